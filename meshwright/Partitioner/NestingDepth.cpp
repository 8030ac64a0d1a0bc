//===- NestingDepth.cpp - Programs that are nested too deep ---------------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

#include "meshwright/Partitioner/NestingDepth.h"
#include "mlir/Bytecode/BytecodeReader.h"
#include "mlir/IR/Diagnostics.h"
#include "llvm/Support/MemoryBufferRef.h"

using namespace mlir;
using namespace meshwright;

static constexpr unsigned kMaxDepth = 10000;

/// The position behind the string that begins at `begin`.
static size_t skipString(StringRef text, size_t begin) {
  for (size_t i = begin + 1; i < text.size(); ++i) {
    i = text.find_first_of("\"\\", i);
    if (i == StringRef::npos)
      return text.size();
    if (text[i] == '"')
      return i + 1;
    ++i; // What a backslash stands before is part of the string.
  }
  return text.size();
}

/// Where the bracket is that opens one level too many, if there is one.
static std::optional<size_t> findTooDeep(StringRef text) {
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
          return i;
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

LogicalResult meshwright::verifyNestingDepth(StringRef text, StringRef fileName,
                                             MLIRContext *context) {
  if (isBytecode(llvm::MemoryBufferRef(text, fileName)))
    return success();
  std::optional<size_t> place = findTooDeep(text);
  if (!place)
    return success();
  StringRef before = text.take_front(*place);
  unsigned line = before.count('\n') + 1;
  unsigned column = *place - (before.rfind('\n') + 1) + 1;
  return emitError(FileLineColLoc::get(context, fileName, line, column))
         << "brackets are nested more than " << kMaxDepth
         << " deep here; the program cannot be read";
}
