//===- SimulationFile.cpp - Drawings of simulations -----------------------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

#include "meshwright/Draw/ReadDrawing.h"
#include "meshwright/Text/JsonMembers.h"
#include "meshwright/Text/NumberLimits.h"
#include "meshwright/Text/PlainJson.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringMap.h"

using namespace meshwright;
namespace json = llvm::json;

/// A number that may be null or missing, -1 then.
static bool readNumberOrNone(JsonMembers &members, llvm::StringRef key,
                             int32_t &number) {
  number = -1;
  if (members.isNull(key))
    return true;
  std::optional<int64_t> read = members.find(key)->getAsInteger();
  if (!read || *read < 0 || *read > INT32_MAX)
    return members.fail(key, "expected null or an integer, 0 or more");
  number = *read;
  return true;
}

namespace {
class SimulationReader {
public:
  SimulationReader(const json::Value &value, Drawing &drawing)
      : value(value), drawing(drawing) {}

  bool read(json::Path path);

private:
  bool readMeshes(JsonMembers &top);
  bool readMesh(const json::Value &value, Drawing::Mesh &mesh, json::Path path);
  bool readEdge(const json::Value &value, json::Path path);
  bool readItemNumber(const json::Value *value, json::Path path,
                      std::vector<uint32_t> &numbers);
  bool readItems(JsonMembers &top);
  bool readItem(const json::Value &value, json::Path path);
  bool readCriticalPath(JsonMembers &top);
  bool readMeshName(JsonMembers &members, llvm::StringRef key, uint32_t &mesh);

  const json::Value &value;
  Drawing &drawing;
  llvm::StringMap<uint32_t> meshes;
  size_t numItems = 0;
};
} // namespace

bool SimulationReader::readMeshName(JsonMembers &members, llvm::StringRef key,
                                    uint32_t &mesh) {
  llvm::StringRef name;
  if (!members.read(key, name))
    return false;
  auto it = meshes.find(name);
  if (it == meshes.end())
    return members.fail(key, "a mesh that is not in \"meshes\"");
  mesh = it->second;
  return true;
}

static bool readShare(const json::Value &value, Drawing::Mesh &mesh,
                      json::Path path) {
  JsonMembers share(value, path);
  llvm::StringRef what;
  double bytes;
  if (!share || !share.read("what", what) || !share.read("bytes", bytes))
    return false;
  mesh.shares.push_back({what.str(), bytes});
  return true;
}

static bool readLevel(const json::Value &value, Drawing::Mesh &mesh,
                      json::Path path) {
  const json::Array *pair = value.getAsArray();
  std::optional<double> time, amount;
  if (pair && pair->size() == 2) {
    time = (*pair)[0].getAsNumber();
    amount = (*pair)[1].getAsNumber();
  }
  double last = mesh.levels.empty() ? 0 : mesh.levels.back().time;
  if (!time || !amount || *time < last || *time > kMaxNumber || *amount < 0 ||
      *amount > kMaxNumber)
    return failAt(
        path, "expected a time, not before the last, and the bytes from then "
              "on, both up to 1e30");
  mesh.levels.push_back({*time, *amount});
  return true;
}

bool SimulationReader::readMesh(const json::Value &value, Drawing::Mesh &mesh,
                                json::Path path) {
  JsonMembers members(value, path);
  auto readAll = [&](llvm::StringRef key, auto read) {
    return !members.find(key) ||
           members.read(key, [&](const json::Value &each, json::Path at) {
             return read(each, mesh, at);
           });
  };
  return members && members.read("busy_s", mesh.busy) &&
         members.read("bubble", mesh.bubble) &&
         members.read("peak_bytes", mesh.peak) && readAll("peak", readShare) &&
         readAll("memory", readLevel);
}

bool SimulationReader::readMeshes(JsonMembers &top) {
  const json::Value *value = top.find("meshes");
  const json::Object *object = value ? value->getAsObject() : nullptr;
  if (!object)
    return top.fail("meshes", "expected an object, a member for each mesh");
  json::Path list = top.getPath("meshes");
  std::vector<llvm::StringRef> names;
  for (const auto &[name, mesh] : *object)
    names.push_back(name);
  // An object of JSON has no order: `m2` comes before `m10`.
  llvm::sort(names, [](llvm::StringRef a, llvm::StringRef b) {
    return a.compare_numeric(b) < 0;
  });
  for (llvm::StringRef name : names) {
    meshes[name] = drawing.meshes.size();
    Drawing::Mesh &mesh = drawing.meshes.emplace_back();
    mesh.name = name.str();
    if (!readMesh(*object->get(name), mesh, list.field(name)))
      return false;
  }
  return true;
}

bool SimulationReader::readEdge(const json::Value &value, json::Path path) {
  JsonMembers members(value, path);
  Drawing::Edge edge{};
  if (!members || !readMeshName(members, "source", edge.source) ||
      !readMeshName(members, "target", edge.target) ||
      !members.read("bytes", edge.bytes) ||
      !members.read("transfers", edge.transfers) ||
      !members.read("busy_s", edge.busy) ||
      !members.read("slack_s", edge.slack))
    return false;
  drawing.edges.push_back(edge);
  return true;
}

bool SimulationReader::readItemNumber(const json::Value *value, json::Path path,
                                      std::vector<uint32_t> &numbers) {
  std::optional<int64_t> item = value ? value->getAsInteger() : std::nullopt;
  if (!item || *item < 0 || *item >= static_cast<int64_t>(numItems))
    return failAt(path, "expected the number of an item");
  numbers.push_back(*item);
  return true;
}

bool SimulationReader::readItem(const json::Value &value, json::Path path) {
  JsonMembers members(value, path);
  Drawing::Bar bar;
  llvm::StringRef kind, name;
  if (!members || !readMeshName(members, "mesh", bar.mesh) ||
      !members.read("kind", kind) || !members.read("name", name) ||
      !readNumberOrNone(members, "stage", bar.stage) ||
      !readNumberOrNone(members, "microbatch", bar.microbatch) ||
      !members.read("start_s", bar.start) || !members.read("end_s", bar.stop) ||
      !members.read("bytes", bar.bytes) || !members.read("slack_s", bar.slack))
    return false;
  std::optional<ItemKind> known = parseItemKind(kind);
  if (!known)
    return members.fail("kind",
                        "expected forward, backward, weight, "
                        "overlapped, optimizer, transfer, collective or other");
  bar.kind = *known;
  if (bar.stop < bar.start)
    return members.fail("end_s", "expected a time that is not before start_s");
  bar.source = bar.mesh;
  if (members.find("source") && !readMeshName(members, "source", bar.source))
    return false;
  // Without it, a transfer says it in its name.
  if (!members.find("source") && bar.isTransfer())
    if (auto it = meshes.find(name.split(" -> ").first); it != meshes.end())
      bar.source = it->second;
  bar.name = drawing.names.add(name);
  std::vector<std::string> origins;
  if (members.find("origins") && !members.read("origins", origins))
    return false;
  bar.origins = drawing.names.add(llvm::join(origins, ", "));
  if (!members.read("waits_for", [&](const json::Value &each, json::Path at) {
        return readItemNumber(&each, at, drawing.waits);
      }))
    return false;
  drawing.endWaits();
  drawing.bars.push_back(bar);
  return true;
}

bool SimulationReader::readItems(JsonMembers &top) {
  if (!top.find("items"))
    return top.fail("items", "missing; ask `meshwright simulate` for them with "
                             "--items");
  const json::Array *items = top.readArray("items");
  if (!items)
    return false;
  numItems = items->size();
  drawing.bars.reserve(numItems);
  return top.read("items", [&](const json::Value &item, json::Path at) {
    return readItem(item, at);
  });
}

/// Items by number, or objects that have one.
bool SimulationReader::readCriticalPath(JsonMembers &top) {
  return !top.find("critical_path") ||
         top.read("critical_path", [&](const json::Value &each, json::Path at) {
           const json::Object *object = each.getAsObject();
           return readItemNumber(object ? object->get("item") : &each, at,
                                 drawing.criticalPath);
         });
}

bool SimulationReader::read(json::Path path) {
  JsonMembers top(value, path);
  int64_t version = 0;
  if (!top || !top.read("version", version))
    return false;
  if (version != 1)
    return top.fail("version", "simulate again with this release; expected 1");
  if (!top.read("makespan_s", drawing.makespan))
    return false;
  if (drawing.makespan > 0 && drawing.makespan < Drawing::kLeastTime)
    return top.fail("makespan_s", "expected 0, or at least 1e-18");
  const json::Value *utilization = top.find("utilization");
  if (utilization && !utilization->getAsNull()) {
    drawing.utilization.emplace();
    if (!top.read("utilization", *drawing.utilization))
      return false;
  }
  if (!readMeshes(top) ||
      (top.find("edges") &&
       !top.read("edges", [&](const json::Value &edge,
                              json::Path at) { return readEdge(edge, at); })) ||
      !readItems(top) || !readCriticalPath(top))
    return false;
  double busy = 0;
  for (const Drawing::Mesh &mesh : drawing.meshes)
    busy += mesh.busy;
  if (drawing.makespan > 0 && !drawing.meshes.empty())
    drawing.bubble =
        1 - busy / (drawing.makespan * double(drawing.meshes.size()));
  return true;
}

llvm::Expected<Drawing> meshwright::readSimulation(const json::Value &value) {
  Drawing drawing;
  json::Path::Root root("simulation");
  if (!SimulationReader(value, drawing).read(root))
    return root.getError();
  return drawing;
}
