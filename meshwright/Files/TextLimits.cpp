//===- TextLimits.cpp - Texts that no parser can take ---------------------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

#include "meshwright/Files/TextLimits.h"
#include "mlir/Bytecode/BytecodeReader.h"
#include "mlir/IR/Diagnostics.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/ADT/StringSet.h"
#include <array>

using namespace mlir;
using namespace meshwright;

static constexpr unsigned kMaxDepth = 10000;
static constexpr unsigned kMaxTypeDepth = 500;

/// The position after the string that begins at `begin`. One that is not closed
/// ends with its line: an error, after which the next part of a file is parsed.
static size_t skipString(StringRef text, size_t begin) {
  constexpr StringLiteral kEnds = "\"\\\n\v\f";
  size_t i = text.find_first_of(kEnds, begin + 1);
  while (i != StringRef::npos && text[i] == '\\') {
    // A quote or backslash after a backslash is part of the string.
    bool isPair =
        i + 1 < text.size() && StringRef("\"\\").contains(text[i + 1]);
    i = text.find_first_of(kEnds, i + 1 + isPair);
  }
  return i == StringRef::npos ? text.size() : i + 1;
}

/// The position after the comment that begins at `begin`.
static size_t skipComment(StringRef text, size_t begin) {
  return std::min(text.find_first_of("\n\r", begin), text.size());
}

/// Drops what MLIR's lexer passes over between two words.
static StringRef dropSpace(StringRef text) {
  while (true) {
    text =
        text.drop_while([](char c) { return llvm::isSpace(c) || c == '\0'; });
    if (!text.starts_with("//"))
      return text;
    text = text.drop_front(skipComment(text, 0));
  }
}

static bool isInKeyword(char c) {
  return llvm::isAlnum(c) || StringRef("$._").contains(c);
}

/// Of values and aliases, after their first character.
static bool isInName(char c) { return isInKeyword(c) || c == '-'; }

namespace {
/// Arrays of elements of the type `index`, by that name or an alias. MLIR's
/// parser takes them for floats, and ends when it looks at their kind.
class IndexArrays {
public:
  explicit IndexArrays(StringRef text) : text(text) {}

  /// Takes note of an alias of the type, if one is defined at `place`.
  void addAlias(size_t place) {
    StringRef rest = text.drop_front(place + 1);
    StringRef name = rest.take_while(isInName);
    rest = dropSpace(rest.drop_front(name.size()));
    if (rest.consume_front("=") && isIndex(dropSpace(rest)))
      aliases.insert(name);
  }

  /// Where the type of the elements is, if there is such an array at
  /// `place`.
  std::optional<size_t> findType(size_t place) const {
    StringRef rest = text.drop_front(place);
    auto isInOther = [](char c) {
      return isInName(c) || StringRef("#!@%^").contains(c);
    };
    if ((place != 0 && isInOther(text[place - 1])) ||
        !rest.consume_front("array"))
      return std::nullopt;
    rest = dropSpace(rest);
    if (!rest.consume_front("<"))
      return std::nullopt;
    rest = dropSpace(rest);
    if (!isIndex(rest))
      return std::nullopt;
    return text.size() - rest.size();
  }

private:
  bool isIndex(StringRef type) const {
    return type.consume_front("!") ? aliases.contains(type.take_while(isInName))
                                   : type.take_while(isInKeyword) == "index";
  }

  StringRef text;
  llvm::StringSet<> aliases;
};

/// References to one of several results, as in `%0#3`. MLIR's parser allocates
/// as many results of a name as the highest number says, and again in each
/// operation around it that sees no values from outside.
class ResultNumbers {
public:
  explicit ResultNumbers(size_t textSize) : textSize(textSize) {}

  /// What is too much about the reference that `text` begins with, if it is one.
  std::optional<std::string> add(StringRef text, unsigned depth) {
    StringRef rest = text.drop_front().drop_while(isInName);
    StringRef name = text.drop_back(rest.size());
    rest = dropSpace(rest);
    StringRef number =
        rest.consume_front("#") ? rest.take_while(llvm::isDigit) : StringRef();
    if (number.empty())
      return std::nullopt;
    uint64_t value;
    if (number.getAsInteger(10, value) || value > textSize)
      return ("result number " + number + kTooMany).str();
    uint64_t &highest = highestOfName[name];
    total += std::max(highest, value) - highest;
    highest = std::max(highest, value);
    deepest = std::max(deepest, depth);
    // Each result has a type, which is a character at least.
    if (total > textSize || total * deepest > std::max(kMostPlaces, textSize))
      return ("result number " + number + ", with those before it," + kTooMany)
          .str();
    return std::nullopt;
  }

private:
  static constexpr char kTooMany[] =
      " is more than a program of this length can have";
  /// In the memory of the parser, of 16 bytes each.
  static constexpr size_t kMostPlaces = size_t(1) << 25;

  size_t textSize;
  llvm::StringMap<uint64_t> highestOfName;
  uint64_t total = 0;
  unsigned deepest = 1;
};
} // namespace

/// The position, from `begin` on, of the first character that has a case in
/// `findTextExcess`; both lists have to agree.
static size_t skipOthers(StringRef text, size_t begin) {
  static constexpr auto kIsSeen = [] {
    std::array<bool, 256> isSeen{};
    for (char c :
         {'"', '/', '%', '!', 'a', '-', '<', '>', '(', ')', '[', ']', '{', '}'})
      isSeen[static_cast<unsigned char>(c)] = true;
    return isSeen;
  }();
  while (begin < text.size() &&
         !kIsSeen[static_cast<unsigned char>(text[begin])])
    ++begin;
  return begin;
}

std::optional<TextExcess>
meshwright::findTextExcess(llvm::MemoryBufferRef program) {
  if (isBytecode(program))
    return std::nullopt;
  StringRef text = program.getBuffer();
  unsigned depth = 0, typeDepth = 0;
  auto makeExcess = [](StringRef what, unsigned limit) {
    return (what + " are nested more than " + Twine(limit) +
            " deep here, too deep to read the program; close those that are "
            "left open, or nest fewer")
        .str();
  };
  ResultNumbers results(text.size());
  IndexArrays arrays(text);
  for (size_t i = skipOthers(text, 0); i < text.size();
       i = skipOthers(text, i)) {
    char next = i + 1 < text.size() ? text[i + 1] : '\0';
    switch (text[i]) {
    case '"':
      i = skipString(text, i);
      continue;
    case '/':
      if (next == '/') {
        i = skipComment(text, i);
        continue;
      }
      break;
    case '%':
      if (auto excess = results.add(text.drop_front(i), depth))
        return TextExcess{i, *excess};
      break;
    case '!':
      arrays.addAlias(i);
      break;
    case 'a':
      if (next != 'r')
        break;
      if (auto place = arrays.findType(i))
        return TextExcess{*place,
                          "expected an array of integers or floats, got one of "
                          "'index'; i64 holds any index"};
      break;
    case '-': // An arrow closes nothing.
      i += next == '>';
      break;
    case '<':
    case '>':
      if (next == '=') // Nor does a comparison.
        break;
      if (text[i] == '>')
        typeDepth -= typeDepth > 0;
      else if (++typeDepth > kMaxTypeDepth)
        return TextExcess{i, makeExcess("types or attributes", kMaxTypeDepth)};
      [[fallthrough]];
    case '(':
    case ')':
    case '[':
    case ']':
    case '{':
    case '}':
      if (StringRef("<([{").contains(text[i])) {
        if (++depth > kMaxDepth)
          return TextExcess{i, makeExcess("brackets", kMaxDepth)};
      } else if (depth > 0) {
        --depth;
      }
      break;
    default:
      break;
    }
    ++i;
  }
  return std::nullopt;
}

LogicalResult meshwright::verifyTextLimits(StringRef text, StringRef fileName,
                                           MLIRContext *context) {
  std::optional<TextExcess> excess = findTextExcess({text, fileName});
  if (!excess)
    return success();
  StringRef before = text.take_front(excess->place);
  unsigned line = before.count('\n') + 1;
  unsigned column = excess->place - (before.rfind('\n') + 1) + 1;
  return emitError(FileLineColLoc::get(context, fileName, line, column))
         << excess->message;
}
