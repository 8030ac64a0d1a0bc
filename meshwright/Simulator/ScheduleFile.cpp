//===- ScheduleFile.cpp - The order that schedule.json says ---------------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

#include "meshwright/Simulator/ScheduleFile.h"
#include "meshwright/Text/PlainJson.h"
#include "meshwright/Text/ScheduleRanges.h"
#include "meshwright/Text/Utf8.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/JSON.h"
#include <optional>

using namespace meshwright;
namespace json = llvm::json;

static llvm::Error fail(const llvm::Twine &message) {
  return llvm::createStringError(message);
}

/// The positions of items in a list.
static llvm::Expected<std::vector<unsigned>>
readItems(const json::Object &mesh, const std::string &name, size_t numItems) {
  const json::Array *list = mesh.getArray("items");
  if (!list)
    return fail("mesh \"" + name + "\": expected a list of \"items\"");
  std::vector<unsigned> items;
  for (const json::Value &value : *list) {
    std::optional<int64_t> item = value.getAsInteger();
    if (numItems == 0)
      return fail("mesh \"" + name + "\": expected no items");
    if (!item || *item < 0 || *item >= static_cast<int64_t>(numItems))
      return fail(
          llvm::formatv("mesh \"{0}\": expected the positions of items, "
                        "from 0 to {1}",
                        name, numItems - 1));
    items.push_back(*item);
  }
  return std::move(items);
}

/// Gives a mesh its items in another order.
static llvm::Error setItems(std::vector<unsigned> items,
                            const std::string &name,
                            ExportedProgram::Mesh &mesh) {
  std::vector<unsigned> expected = mesh.items, found = items;
  llvm::sort(expected);
  llvm::sort(found);
  for (size_t i = 1; i < found.size(); ++i)
    if (found[i] == found[i - 1])
      return fail(
          llvm::formatv("mesh \"{0}\": item {1} occurs twice", name, found[i]));
  for (unsigned item : expected)
    if (!llvm::binary_search(found, item))
      return fail(
          llvm::formatv("mesh \"{0}\": item {1} is missing", name, item));
  for (unsigned item : found)
    if (!llvm::binary_search(expected, item))
      return fail(llvm::formatv("mesh \"{0}\": item {1} is not of this mesh",
                                name, item));
  mesh.items = std::move(items);
  return llvm::Error::success();
}

llvm::Error meshwright::readOrder(llvm::StringRef text,
                                  ExportedProgram &program) {
  llvm::Expected<json::Value> value = parsePlainJson(text);
  if (!value)
    return value.takeError();
  const json::Object *object = value->getAsObject();
  if (!object || !object->get("version"))
    return fail("expected what meshwright partition writes, an object with a "
                "\"version\"");
  std::optional<WrittenSchedule> written;
  if (object->getInteger("version") == 2) {
    llvm::Expected<WrittenSchedule> read = writeOutSchedule(*value);
    if (!read)
      return read.takeError();
    written = std::move(*read);
  } else if (object->getInteger("version") != 1)
    return fail("has a version other than 1 and 2, which this release reads; "
                "partition the program again with this release");
  const json::Array *items = object->getArray("items");
  const json::Array *meshes = object->getArray("meshes");
  size_t numItems = written ? written->items.size() : items ? items->size() : 0;
  if (!items || numItems != program.items.size() || !meshes ||
      meshes->size() != program.meshes.size())
    return fail("is of another program than the partitioned module beside it; "
                "partition the program again");
  for (auto [index, entry] : llvm::enumerate(*meshes)) {
    const json::Object *found = entry.getAsObject();
    if (!found)
      return fail("expected an object for each mesh");
    ExportedProgram::Mesh &mesh = program.meshes[index];
    std::string name = toUtf8(mesh.name);
    if (found->getString("name") != llvm::StringRef(name))
      return fail("expected mesh \"" + name +
                  "\" at its position in \"meshes\"");
    std::vector<unsigned> ordered;
    if (written) {
      llvm::append_range(ordered, written->ofMeshes[index]);
    } else {
      auto read = readItems(*found, name, numItems);
      if (!read)
        return read.takeError();
      ordered = std::move(*read);
    }
    if (llvm::Error error = setItems(std::move(ordered), name, mesh))
      return error;
  }
  return llvm::Error::success();
}
