//===- Text.cpp - Changes of texts ----------------------------------------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

#include "Mutator.h"
#include "Values.h"
#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringExtras.h"
#include <optional>
#include <vector>

using namespace meshwright;
using namespace meshwright::fuzz;
using llvm::StringRef;

namespace {
struct Piece {
  size_t begin, size;
};
} // namespace

static bool isWordPart(char c) {
  return llvm::isAlnum(c) || c == '_' || c == '.' || c == '$';
}

/// Words with what makes them references, numbers, and single characters.
static std::vector<Piece> findWords(StringRef text) {
  std::vector<Piece> words;
  for (size_t i = 0; i < text.size();) {
    if (llvm::isSpace(text[i])) {
      ++i;
      continue;
    }
    size_t end = i + 1;
    if (isWordPart(text[i]) || StringRef("%@#!^-").contains(text[i]))
      while (end < text.size() && isWordPart(text[end]))
        ++end;
    else if (text[i] == '"')
      end = std::min(text.find('"', i + 1), text.size() - 1) + 1;
    words.push_back({i, end - i});
    i = end;
  }
  return words;
}

/// Runs of digits, also within types such as `tensor<4x8xf32>`.
static std::vector<Piece> findNumbers(StringRef text) {
  std::vector<Piece> numbers;
  for (size_t i = 0; i < text.size(); ++i) {
    if (!llvm::isDigit(text[i]) ||
        (i > 0 && (llvm::isDigit(text[i - 1]) ||
                   (llvm::isAlpha(text[i - 1]) && text[i - 1] != 'x'))))
      continue;
    size_t end = text.find_first_not_of("0123456789", i);
    numbers.push_back({i, std::min(end, text.size()) - i});
  }
  return numbers;
}

static std::vector<Piece> findLines(StringRef text) {
  std::vector<Piece> lines;
  for (size_t begin = 0; begin < text.size();) {
    size_t end = std::min(text.find('\n', begin), text.size() - 1) + 1;
    lines.push_back({begin, end - begin});
    begin = end;
  }
  return lines;
}

/// From an opening bracket to the one that closes it, both included.
static std::vector<Piece> findGroups(StringRef text) {
  std::vector<Piece> groups;
  llvm::SmallVector<size_t> open;
  for (size_t i = 0; i < text.size(); ++i) {
    if (StringRef("([{<").contains(text[i]))
      open.push_back(i);
    else if (StringRef(")]}>").contains(text[i]) && !open.empty() &&
             !(i > 0 && text[i - 1] == '-'))
      groups.push_back({open.back(), i + 1 - open.pop_back_val()});
  }
  return groups;
}

static std::string replace(StringRef text, Piece piece, StringRef by) {
  return (text.take_front(piece.begin) + by +
          text.drop_front(piece.begin + piece.size))
      .str();
}

static StringRef get(StringRef text, Piece piece) {
  return text.substr(piece.begin, piece.size);
}

static std::string replaceAll(StringRef text, StringRef from, StringRef to) {
  std::string result;
  for (size_t end; (end = text.find(from)) != StringRef::npos;
       text = text.drop_front(end + from.size()))
    (result += text.take_front(end)) += to;
  return result += text;
}

/// Every dimension of one size gets another one: what was consistent, stays so.
static std::string resizeAll(Chance &chance, StringRef text) {
  std::vector<StringRef> sizes;
  for (Piece piece : findNumbers(text))
    if (text.substr(piece.begin + piece.size).starts_with("x"))
      sizes.push_back(get(text, piece));
  if (sizes.empty())
    return text.str();
  StringRef old = chance.of(sizes);
  int64_t number = 1;
  (void)old.getAsInteger(10, number);
  int64_t size = makeSize(chance, number);
  std::string by = size < 0 ? "?" : std::to_string(size);
  std::string result =
      replaceAll(text, ("<" + old + "x").str(), "<" + by + "x");
  return replaceAll(result, ("x" + old + "x").str(), "x" + by + "x");
}

static std::string retypeAll(Chance &chance, StringRef text) {
  static constexpr StringRef kTypes[] = {"f32",
                                         "i32",
                                         "i1",
                                         "f16",
                                         "bf16",
                                         "f64",
                                         "i8",
                                         "ui8",
                                         "i64",
                                         "ui32",
                                         "f8E4M3FN",
                                         "f8E5M2",
                                         "i4",
                                         "ui4",
                                         "i2",
                                         "f4E2M1FN",
                                         "f8E8M0FNU",
                                         "complex<f32>",
                                         "i16",
                                         "ui64",
                                         "i7",
                                         "f6E2M3FN",
                                         "!quant.uniform<i8:f32, 0.5>",
                                         "index"};
  std::vector<StringRef> present;
  for (StringRef type : kTypes)
    if (text.contains(("x" + type + ">").str()) ||
        text.contains(("tensor<" + type + ">").str()))
      present.push_back(type);
  if (present.empty())
    return text.str();
  StringRef from = chance.of(present);
  StringRef to = chance.of(llvm::ArrayRef(kTypes));
  std::string result =
      replaceAll(text, ("x" + from + ">").str(), ("x" + to + ">").str());
  return replaceAll(result, ("tensor<" + from + ">").str(),
                    ("tensor<" + to + ">").str());
}

/// Nothing if there is no number.
static std::optional<std::string> changeNumber(Chance &chance, StringRef text) {
  std::vector<Piece> numbers = findNumbers(text);
  if (numbers.empty())
    return std::nullopt;
  Piece piece = chance.of(numbers);
  int64_t old = 0;
  (void)get(text, piece).getAsInteger(10, old);
  return replace(text, piece, std::to_string(makeNumber(chance, old)));
}

/// Nothing if there is no word.
static std::optional<std::string> changeWord(Chance &chance, StringRef text) {
  std::vector<Piece> words = findWords(text);
  if (words.empty())
    return std::nullopt;
  Piece piece = chance.of(words);
  switch (chance.below(4)) {
  case 0:
    return replace(text, piece, "");
  case 1:
    return replace(text, piece,
                   (get(text, piece) + " " + get(text, piece)).str());
  default:
    return replace(text, piece, get(text, chance.of(words)));
  }
}

static std::string changeLine(Chance &chance, StringRef text) {
  std::vector<Piece> lines = findLines(text);
  Piece piece = chance.of(lines);
  switch (chance.below(3)) {
  case 0:
    return replace(text, piece, "");
  case 1:
    return replace(text, {piece.begin, 0}, get(text, piece));
  default:
    return replace(text, {piece.begin, 0}, get(text, chance.of(lines)));
  }
}

/// Nothing if there is no pair of brackets.
static std::optional<std::string> changeGroup(Chance &chance, StringRef text) {
  std::vector<Piece> groups = findGroups(text);
  if (groups.empty())
    return std::nullopt;
  Piece piece = chance.of(groups);
  StringRef old = get(text, piece);
  switch (chance.below(6)) {
  case 0:
    return replace(text, piece, "");
  case 1:
    return replace(text, piece, (old.take_front() + old.take_back()).str());
  case 2:
    return replace(text, piece,
                   (old.take_front() + old.drop_front().drop_back() + ", " +
                    old.drop_front().drop_back() + old.take_back())
                       .str());
  case 3: {
    std::string deep = old.str();
    for (uint64_t level = chance.below(200); level-- && deep.size() < 20000;)
      deep = (old.take_front() + deep + old.take_back()).str();
    return replace(text, piece, deep);
  }
  default:
    return replace(text, piece, get(text, chance.of(groups)));
  }
}

static std::string erasePiece(Chance &chance, StringRef text) {
  Piece piece{chance.below(text.size()), 0};
  piece.size =
      chance.below(std::min<size_t>(text.size() - piece.begin, 20) + 1);
  return replace(text, piece, "");
}

static std::string changeOnce(Chance &chance, StringRef text) {
  if (text.empty())
    return std::string(1, static_cast<char>(chance.below(128)));
  std::optional<std::string> changed;
  uint64_t kind = chance.below(16);
  if (kind < 3)
    changed = changeNumber(chance, text);
  else if (kind < 6)
    changed = changeWord(chance, text);
  else if (kind < 8)
    changed = changeLine(chance, text);
  else if (kind < 11)
    changed = changeGroup(chance, text);
  else if (kind == 11)
    changed = resizeAll(chance, text);
  else if (kind == 12)
    changed = retypeAll(chance, text);
  else if (kind == 13)
    changed = text.take_front(chance.below(text.size())).str();
  else if (kind == 14) {
    changed = text.str();
    chance.of(*changed) = static_cast<char>(chance.below(256));
  }
  return changed ? *changed : erasePiece(chance, text);
}

std::string fuzz::mutateText(StringRef text, uint64_t seed) {
  Chance chance(seed);
  std::string result = text.str();
  for (uint64_t count = 1 + chance.below(3); count--;)
    result = changeOnce(chance, result);
  return result;
}

std::string fuzz::mutateBytes(StringRef bytes, uint64_t seed) {
  Chance chance(seed);
  std::string result = bytes.str();
  for (uint64_t count = 1 + chance.below(4); count-- && !result.empty();) {
    size_t place = chance.below(result.size());
    switch (chance.below(6)) {
    case 0:
      result.insert(place, 1, static_cast<char>(chance.below(256)));
      break;
    case 1:
      result.erase(place, 1 + chance.below(8));
      break;
    case 2:
      result.insert(
          place, result.substr(chance.below(result.size()), chance.below(32)));
      break;
    case 3:
      result[place] = static_cast<char>(result[place] ^ (1 << chance.below(8)));
      break;
    case 4:
      result[place] = "\0\1\x7f\x80\xff\xfe"[chance.below(6)];
      break;
    default:
      result[place] = static_cast<char>(chance.below(256));
    }
  }
  return result;
}
