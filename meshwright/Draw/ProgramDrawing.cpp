//===- ProgramDrawing.cpp - Drawings of partitioned programs --------------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// Of a schedule.json alone the order is known, and no time. Each fragment takes
// a unit; a transfer is there when its operand is.
//
//===----------------------------------------------------------------------===//

#include "meshwright/Draw/ReadDrawing.h"
#include "meshwright/Text/PlainJson.h"
#include "meshwright/Text/ScheduleRanges.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/Sequence.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringMap.h"
#include <algorithm>
#include <optional>

using namespace meshwright;
namespace json = llvm::json;

namespace {
struct Item {
  std::string kind;
  std::string mesh, source;
  int64_t fragment = -1;
  std::vector<std::string> origins;
  std::vector<int64_t> operands, results;
  int64_t bytes = 0;
  bool isOverlapped = false; ///< A pair of a forward and a backward.
};

class ProgramReader {
public:
  /// `written` has the items of a program of version 2.
  ProgramReader(const json::Object &program, const WrittenSchedule *written,
                Drawing &drawing)
      : program(program), written(written), drawing(drawing) {}

  bool read(json::Path path);

private:
  bool readMeshes(json::Path path);
  bool readFragments(json::Path path);
  bool readItems(json::Path path);
  bool parseItem(const json::Value &value, Item &item, json::Path path);
  bool findMesh(const std::string &name, uint32_t &mesh, json::Path path);
  bool addBar(const Item &item, json::Path path);
  void finish();

  const json::Object &program;
  const WrittenSchedule *written;
  Drawing &drawing;
  llvm::StringMap<uint32_t> meshes;
  std::vector<std::string> fragments;
  std::vector<uint32_t> writers; ///< Of each value: the item, if any.
  std::vector<uint32_t> lastOf;  ///< Of each mesh: the call before.
};
} // namespace

bool ProgramReader::findMesh(const std::string &name, uint32_t &mesh,
                             json::Path path) {
  auto it = meshes.find(name);
  if (it == meshes.end())
    return failAt(path, "a mesh that is not in \"meshes\"");
  mesh = it->second;
  return true;
}

bool ProgramReader::readMeshes(json::Path path) {
  const json::Array *list = program.getArray("meshes");
  json::Path entries = path.field("meshes");
  if (!list)
    return failAt(entries, "expected a list");
  for (auto [index, each] : llvm::enumerate(*list)) {
    std::string name;
    json::ObjectMapper members(each, entries.index(index));
    if (!members || !members.map("name", name))
      return false;
    meshes[name] = index;
    drawing.meshes.emplace_back().name = name;
  }
  lastOf.assign(drawing.meshes.size(), Drawing::kNone);
  return true;
}

bool ProgramReader::readFragments(json::Path path) {
  json::Path entries = path.field("fragments");
  const json::Array *list = program.getArray("fragments");
  if (!list)
    return failAt(entries, "expected a list");
  for (auto [index, each] : llvm::enumerate(*list)) {
    json::ObjectMapper members(each, entries.index(index));
    if (!members || !members.map("name", fragments.emplace_back()))
      return false;
  }
  return true;
}

bool ProgramReader::parseItem(const json::Value &value, Item &item,
                              json::Path path) {
  json::ObjectMapper members(value, path);
  if (!members || !members.map("kind", item.kind))
    return false;
  item.isOverlapped = value.getAsObject()->get("overlapped") != nullptr;
  bool hasValues = !written;
  if (item.kind == "call")
    return members.map("mesh", item.mesh) &&
           members.map("fragment", item.fragment) &&
           members.map("origins", item.origins) &&
           (!hasValues || (members.map("operands", item.operands) &&
                           members.map("results", item.results)));
  if (item.kind != "transfer")
    return failAt(path.field("kind"), "expected call or transfer");
  item.operands.resize(1);
  item.results.resize(1);
  return members.map("from", item.source) && members.map("to", item.mesh) &&
         (!hasValues || (members.map("operand", item.operands[0]) &&
                         members.map("result", item.results[0]))) &&
         members.map("bytes", item.bytes);
}

/// `enc(1)` is transposed once: a part of the backward.
static ItemKind findKind(const std::vector<std::string> &origins) {
  if (origins.empty())
    return ItemKind::Other;
  bool isBackward = llvm::any_of(origins, [](llvm::StringRef origin) {
    return origin.consume_back("(1)");
  });
  return isBackward ? ItemKind::Backward : ItemKind::Forward;
}

bool ProgramReader::addBar(const Item &item, json::Path path) {
  Drawing::Bar bar;
  if (!findMesh(item.mesh, bar.mesh,
                path.field(item.kind == "call" ? "mesh" : "to")))
    return false;
  bar.source = bar.mesh;
  bar.bytes = double(item.bytes);
  if (item.kind == "transfer") {
    if (!findMesh(item.source, bar.source, path.field("from")))
      return false;
    bar.kind =
        bar.source == bar.mesh ? ItemKind::Collective : ItemKind::Transfer;
    bar.name = drawing.names.add(item.source + " -> " + item.mesh);
  } else if (item.fragment < 0 ||
             item.fragment >= static_cast<int64_t>(fragments.size()))
    return failAt(path.field("fragment"), "expected the number of a fragment");
  else {
    bar.kind =
        item.isOverlapped ? ItemKind::Overlapped : findKind(item.origins);
    bar.name = drawing.names.add(fragments[item.fragment]);
  }
  bar.origins = drawing.names.add(llvm::join(item.origins, ", "));
  uint32_t id = drawing.bars.size();
  auto wait = [&](uint32_t other) {
    if (other == Drawing::kNone)
      return;
    drawing.addWait(other);
    bar.start = std::max(bar.start, drawing.bars[other].stop);
  };
  for (int64_t value : item.operands) {
    if (value < 0 || value >= static_cast<int64_t>(writers.size()))
      return failAt(path, "reads a value that is not in \"values\"");
    wait(writers[value]);
  }
  bar.stop = bar.start;
  if (item.kind == "call") {
    wait(lastOf[bar.mesh]);
    lastOf[bar.mesh] = id;
    bar.stop = bar.start + 1;
  }
  for (int64_t value : item.results) {
    if (value < 0 || value >= static_cast<int64_t>(writers.size()))
      return failAt(path, "writes a value that is not in \"values\"");
    writers[value] = id;
  }
  drawing.endWaits();
  drawing.bars.push_back(bar);
  return true;
}

bool ProgramReader::readItems(json::Path path) {
  if (written) {
    for (auto [index, each] : llvm::enumerate(written->items)) {
      Item item;
      if (!parseItem(*each.common, item, path.index(index)))
        return false;
      item.operands = each.operands;
      auto results = llvm::seq<int64_t>(each.firstResult,
                                        each.firstResult + each.numResults);
      item.results.assign(results.begin(), results.end());
      if (!addBar(item, path.index(index)))
        return false;
    }
    return true;
  }
  for (auto [index, each] : llvm::enumerate(*program.getArray("items"))) {
    Item item;
    if (!parseItem(each, item, path.index(index)) ||
        !addBar(item, path.index(index)))
      return false;
  }
  return true;
}

void ProgramReader::finish() {
  for (const Drawing::Bar &bar : drawing.bars) {
    drawing.makespan = std::max(drawing.makespan, bar.stop);
    drawing.meshes[bar.mesh].busy += bar.getTime();
  }
  double busy = 0;
  for (Drawing::Mesh &mesh : drawing.meshes) {
    busy += mesh.busy;
    mesh.bubble = drawing.makespan > 0 ? 1 - mesh.busy / drawing.makespan : 0;
  }
  if (drawing.makespan > 0)
    drawing.bubble =
        1 - busy / (drawing.makespan * double(drawing.meshes.size()));
  drawing.findSlack(0);
  drawing.findCriticalPath();
}

bool ProgramReader::read(json::Path path) {
  const json::Array *values = program.getArray("values");
  if (!written && (!values || !program.getArray("items")))
    return failAt(path.field(values ? "items" : "values"), "expected a list");
  writers.assign(written ? written->numValues : values->size(), Drawing::kNone);
  if (!readMeshes(path) || !readFragments(path) ||
      !readItems(path.field("items")))
    return false;
  finish();
  return true;
}

llvm::Expected<Drawing> meshwright::readProgram(const json::Value &value) {
  auto version = value.getAsObject()->getInteger("version");
  std::optional<WrittenSchedule> written;
  if (version == 2) {
    llvm::Expected<WrittenSchedule> read = writeOutSchedule(value);
    if (!read)
      return read.takeError();
    written = std::move(*read);
  } else if (version != 1)
    return llvm::createStringError("expected version 1 or 2; partition the "
                                   "program again with this release");
  Drawing drawing;
  drawing.inSeconds = false;
  json::Path::Root root("schedule");
  if (!ProgramReader(*value.getAsObject(), written ? &*written : nullptr,
                     drawing)
           .read(root))
    return root.getError();
  return drawing;
}
