//===- PlainJson.cpp - JSON of bounded depth ------------------------------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

#include "meshwright/Text/PlainJson.h"

using namespace meshwright;
using llvm::StringRef;

const char *meshwright::findTooDeepJson(StringRef text) {
  constexpr unsigned kDeepest = 1000;
  unsigned depth = 0;
  bool isString = false;
  for (const char *c = text.begin(); c != text.end(); ++c) {
    if (isString && *c == '\\' && c + 1 != text.end())
      ++c;
    else if (*c == '"')
      isString = !isString;
    else if (!isString && (*c == '[' || *c == '{') && ++depth > kDeepest)
      return c;
    else if (!isString && (*c == ']' || *c == '}') && depth > 0)
      --depth;
  }
  return nullptr;
}

llvm::Expected<llvm::json::Value> meshwright::parsePlainJson(StringRef text) {
  const char *tooDeep = findTooDeepJson(text);
  if (!tooDeep)
    return llvm::json::parse(text);
  StringRef before(text.begin(), tooDeep - text.begin());
  size_t column = before.size() - (before.rfind('\n') + 1);
  return llvm::make_error<llvm::json::ParseError>(
      "Nested too deeply", before.count('\n') + 1, column, before.size());
}
