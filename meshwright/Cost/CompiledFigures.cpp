//===- CompiledFigures.cpp - What compilers say of fragments --------------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

#include "meshwright/Cost/CompiledFigures.h"
#include "meshwright/Text/Figures.h"
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
  if (!number || *number < 0 || static_cast<double>(*number) > kMostFigure) {
    path.field(key).report("expected a number of bytes");
    return false;
  }
  bytes = *number;
  return true;
}

static bool readFragment(const json::Value &value,
                         CompiledFigures::Fragment &fragment, json::Path path) {
  const json::Object *object = value.getAsObject();
  if (!object || !object->get("temporary_bytes")) {
    path.report("expected what meshwright compile --json says of a fragment");
    return false;
  }
  if (!readBytes(*object, "temporary_bytes", path, fragment.temporaryBytes) ||
      !readBytes(*object, "code_bytes", path, fragment.codeBytes))
    return false;
  const json::Value *seconds = object->get("estimated_s");
  if (!seconds || seconds->getAsNull())
    return true;
  fragment.seconds = seconds->getAsNumber();
  if (fragment.seconds && *fragment.seconds >= 0 &&
      *fragment.seconds <= kMostFigure)
    return true;
  path.field("estimated_s").report("expected seconds, or null");
  return false;
}

/// The object that has the figures: all of the file, or a part of an index.
static const json::Object *findFigures(const json::Value &value) {
  const json::Object *object = value.getAsObject();
  const json::Object *body = object ? object->getObject("body") : nullptr;
  return body ? body->getObject("figures") : object;
}

llvm::Expected<CompiledFigures>
meshwright::parseCompiledFigures(StringRef text) {
  llvm::Expected<json::Value> value = parsePlainJson(text);
  if (!value)
    return value.takeError();
  json::Path::Root root("compiled figures");
  json::Path path(root);
  if (value->getAsArray()) {
    path.report("has figures of several targets; write one file for each");
    return root.getError();
  }
  const json::Object *object = findFigures(*value);
  const json::Object *fragments =
      object ? object->getObject("fragments") : nullptr;
  if (!fragments) {
    path.report("expected what meshwright compile --json prints, or the index "
                "of a saved program");
    return root.getError();
  }
  CompiledFigures figures;
  figures.target = object->getString("target").value_or("").str();
  for (const auto &[name, entry] : *fragments)
    if (!readFragment(entry, figures.fragments[name.str()],
                      path.field("fragments").field(StringRef(name))))
      return root.getError();
  return figures;
}

llvm::Expected<CompiledFigures>
meshwright::readCompiledFigures(StringRef path) {
  llvm::SmallString<128> file(path);
  if (llvm::sys::fs::is_directory(path))
    llvm::sys::path::append(file, "compiled.json");
  return parseFile(file, parseCompiledFigures);
}
