//===- TextLimits.cpp - Texts that no parser can take ---------------------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

#include "meshwright/Files/TextLimits.h"
#include "mlir/Bytecode/BytecodeReader.h"
#include "mlir/IR/Diagnostics.h"
#include "llvm/ADT/StringExtras.h"

using namespace mlir;
using namespace meshwright;

static constexpr unsigned kMaxDepth = 10000;

/// The position behind the string that begins at `begin`.
static size_t skipString(StringRef text, size_t begin) {
  size_t i = text.find_first_of("\"\\", begin + 1);
  // What a backslash stands before is part of the string.
  while (i != StringRef::npos && text[i] == '\\')
    i = text.find_first_of("\"\\", i + 2);
  return i == StringRef::npos ? text.size() : i + 1;
}

/// The digits of a reference to one of several results that begins at `begin`;
/// none of other values.
static StringRef getResultNumber(StringRef text, size_t begin) {
  auto isNamePart = [](char c) {
    return llvm::isAlnum(c) || StringRef("$._-").contains(c);
  };
  StringRef rest = text.drop_front(begin + 1).drop_while(isNamePart);
  return rest.consume_front("#") ? rest.take_while(llvm::isDigit) : StringRef();
}

static bool exceeds(StringRef number, size_t limit) {
  uint64_t value;
  return !number.empty() && (number.getAsInteger(10, value) || value > limit);
}

std::optional<TextExcess>
meshwright::findTextExcess(llvm::MemoryBufferRef program) {
  if (isBytecode(program))
    return std::nullopt;
  StringRef text = program.getBuffer();
  unsigned depth = 0;
  for (size_t i = 0; i < text.size();) {
    char next = i + 1 < text.size() ? text[i + 1] : '\0';
    switch (text[i]) {
    case '"':
      i = skipString(text, i);
      continue;
    case '/':
      if (next == '/')
        i = std::min(text.find('\n', i), text.size() - 1);
      break;
    case '%':
      if (StringRef number = getResultNumber(text, i);
          exceeds(number, text.size()))
        return TextExcess{i, ("result number " + number +
                              " is more than a program of this length can have")
                                 .str()};
      break;
    case '-': // An arrow closes nothing.
      i += next == '>';
      break;
    case '<':
    case '>':
      if (next == '=') // Nor does a comparison.
        break;
      [[fallthrough]];
    case '(':
    case ')':
    case '[':
    case ']':
    case '{':
    case '}':
      if (StringRef("<([{").contains(text[i])) {
        if (++depth > kMaxDepth)
          return TextExcess{i, "brackets are nested more than " +
                                   std::to_string(kMaxDepth) +
                                   " deep here; the program cannot be read"};
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
