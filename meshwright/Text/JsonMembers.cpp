//===- JsonMembers.cpp - Objects of JSON, member by member ----------------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

#include "meshwright/Text/JsonMembers.h"
#include "meshwright/Text/NumberLimits.h"
#include "meshwright/Text/PlainJson.h"

using namespace meshwright;
using llvm::StringRef;
namespace json = llvm::json;

JsonMembers::JsonMembers(const json::Value &value, json::Path path)
    : object(value.getAsObject()), path(path) {
  if (!object)
    path.report("expected an object");
}

const json::Value *JsonMembers::find(StringRef key) const {
  return object ? object->get(key) : nullptr;
}

bool JsonMembers::isNull(StringRef key) const {
  const json::Value *value = find(key);
  return !value || value->getAsNull();
}

json::Path JsonMembers::getPath(StringRef key) const { return path.field(key); }

bool JsonMembers::fail(StringRef key, llvm::StringLiteral message) {
  return failAt(path.field(key), message);
}

bool JsonMembers::read(StringRef key, double &number, bool isNeeded) {
  if (!isNeeded && isNull(key))
    return true;
  std::optional<double> found = object->getNumber(key);
  if (!found || *found < 0)
    return fail(key, "expected a number of at least 0");
  if (*found > kMaxNumber)
    return fail(key, "expected a number of at most 1e30");
  number = *found;
  return true;
}

bool JsonMembers::read(StringRef key, int64_t &number, bool isNeeded) {
  if (!isNeeded && isNull(key))
    return true;
  std::optional<int64_t> found = object->getInteger(key);
  if (!found || *found < 0)
    return fail(key, "expected a whole number of at least 0");
  number = *found;
  return true;
}

bool JsonMembers::read(StringRef key, StringRef &text) {
  std::optional<StringRef> found = object->getString(key);
  if (!found)
    return fail(key, "expected a string");
  text = *found;
  return true;
}

bool JsonMembers::read(StringRef key, std::string &text) {
  StringRef found;
  if (!read(key, found))
    return false;
  text = found.str();
  return true;
}

bool JsonMembers::read(StringRef key, std::vector<std::string> &texts) {
  const json::Array *list = object->getArray(key);
  if (!list || !llvm::all_of(*list, [](const json::Value &value) {
        return value.getAsString().has_value();
      }))
    return fail(key, "expected a list of strings");
  for (const json::Value &value : *list)
    texts.push_back(value.getAsString()->str());
  return true;
}

const json::Array *JsonMembers::readArray(StringRef key) {
  const json::Array *list = object->getArray(key);
  if (!list)
    fail(key, "expected a list");
  return list;
}

bool JsonMembers::read(
    StringRef key,
    llvm::function_ref<bool(const json::Value &, json::Path)> parse) {
  const json::Array *list = readArray(key);
  if (!list)
    return false;
  json::Path here =
      path.field(key); // Paths refer to the one that they go on from.
  for (auto [index, value] : llvm::enumerate(*list))
    if (!parse(value, here.index(index)))
      return false;
  return true;
}
