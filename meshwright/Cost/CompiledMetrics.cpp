//===- CompiledMetrics.cpp - What compilers say of fragments --------------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

#include "meshwright/Cost/CompiledMetrics.h"
#include "meshwright/Text/NumberLimits.h"
#include "meshwright/Text/PlainJson.h"
#include "llvm/ADT/SmallString.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/JSON.h"
#include "llvm/Support/Path.h"

using namespace meshwright;
using llvm::StringRef;
namespace json = llvm::json;

/// A number of bytes; 0 if it is missing.
static bool readBytes(const json::Object &object, StringRef key,
                      json::Path path, int64_t &bytes) {
  const json::Value *value = object.get(key);
  if (!value)
    return true;
  std::optional<int64_t> number = value->getAsInteger();
  if (!number || *number < 0 || static_cast<double>(*number) > kMaxNumber)
    return failAt(path.field(key), "expected a number of bytes");
  bytes = *number;
  return true;
}

static bool readFragment(const json::Value &value,
                         CompiledMetrics::Fragment &fragment, json::Path path) {
  const json::Object *object = value.getAsObject();
  if (!object || !object->get("temporary_bytes"))
    return failAt(path,
                  "expected what meshwright compile --json says of a fragment");
  if (!readBytes(*object, "temporary_bytes", path, fragment.temporaryBytes) ||
      !readBytes(*object, "code_bytes", path, fragment.codeBytes))
    return false;
  const json::Value *seconds = object->get("estimated_s");
  if (!seconds || seconds->getAsNull())
    return true;
  fragment.seconds = seconds->getAsNumber();
  if (fragment.seconds && *fragment.seconds >= 0 &&
      *fragment.seconds <= kMaxNumber)
    return true;
  return failAt(path.field("estimated_s"), "expected seconds, or null");
}

/// The object that has the figures: all of the file, or a part of an index.
static const json::Object *findMetrics(const json::Value &value) {
  const json::Object *object = value.getAsObject();
  const json::Object *body = object ? object->getObject("body") : nullptr;
  return body ? body->getObject("figures") : object;
}

static bool readMetrics(const json::Value &value, CompiledMetrics &figures,
                        json::Path path) {
  if (value.getAsArray())
    return failAt(path,
                  "has figures of several targets; write one file for each");
  const json::Object *object = findMetrics(value);
  const json::Object *fragments =
      object ? object->getObject("fragments") : nullptr;
  if (!fragments)
    return failAt(path, "expected what meshwright compile --json prints, or "
                        "the index of a saved program");
  figures.target = object->getString("target").value_or("").str();
  json::Path each = path.field("fragments");
  return llvm::all_of(*fragments, [&](const auto &fragment) {
    StringRef name = fragment.first;
    return readFragment(fragment.second, figures.fragments[name.str()],
                        each.field(name));
  });
}

llvm::Expected<CompiledMetrics>
meshwright::parseCompiledMetrics(StringRef text) {
  return readPlainJson(text, "compiled figures", readMetrics);
}

llvm::Expected<CompiledMetrics>
meshwright::readCompiledMetrics(StringRef path) {
  llvm::SmallString<128> file(path);
  if (llvm::sys::fs::is_directory(path))
    llvm::sys::path::append(file, "compiled.json");
  return parseFile(file, parseCompiledMetrics);
}
