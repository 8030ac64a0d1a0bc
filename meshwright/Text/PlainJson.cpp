//===- PlainJson.cpp - JSON of bounded depth ------------------------------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

#include "meshwright/Text/PlainJson.h"
#include "llvm/ADT/STLExtras.h"

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

/// 2^63 written as a fraction passes for an integer in LLVM, which it is too large
/// for; as an unsigned number it does not.
static void fixNumbers(llvm::json::Value &value) {
  constexpr double kTooLarge = 0x1p63;
  if (llvm::json::Array *array = value.getAsArray())
    llvm::for_each(*array, fixNumbers);
  else if (llvm::json::Object *object = value.getAsObject())
    for (auto &member : *object)
      fixNumbers(member.second);
  else if (value.getAsNumber() == kTooLarge && !value.getAsUINT64())
    value = uint64_t(1) << 63;
}

llvm::Expected<llvm::json::Value> meshwright::parsePlainJson(StringRef text) {
  const char *tooDeep = findTooDeepJson(text);
  if (!tooDeep) {
    llvm::Expected<llvm::json::Value> value = llvm::json::parse(text);
    if (value)
      fixNumbers(*value);
    return value;
  }
  StringRef before(text.begin(), tooDeep - text.begin());
  size_t column = before.size() - (before.rfind('\n') + 1);
  return llvm::make_error<llvm::json::ParseError>(
      "Nested too deeply", before.count('\n') + 1, column, before.size());
}

bool meshwright::checkKeys(const llvm::json::Object &object,
                           llvm::ArrayRef<llvm::StringLiteral> known,
                           llvm::json::Path path) {
  for (const auto &[key, value] : object)
    if (!llvm::is_contained(known, llvm::StringRef(key)))
      return failAt(path.field(key), "unknown key");
  return true;
}
