//===- SimulationFile.cpp - Drawings of simulations -----------------------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

#include "meshwright/Draw/ReadDrawing.h"
#include "meshwright/Text/Figures.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/Support/FormatVariadic.h"

using namespace meshwright;
namespace json = llvm::json;

namespace {
/// Reads the members of one object, and reports the first that is wrong.
class Members {
public:
  Members(const json::Value &value, json::Path path)
      : object(value.getAsObject()), path(path) {
    if (!object)
      path.report("expected an object");
  }

  bool isObject() const { return object; }

  /// As a drawing can have, and not negative.
  bool read(llvm::StringRef key, double &number) {
    const json::Value *value = find(key);
    std::optional<double> read = value ? value->getAsNumber() : std::nullopt;
    if (!read || *read < 0)
      return fail(key, "expected a number, 0 or more");
    if (*read > kMostFigure)
      return fail(key, "expected a number of at most 1e30");
    number = *read;
    return true;
  }
  bool read(llvm::StringRef key, int64_t &number) {
    const json::Value *value = find(key);
    std::optional<int64_t> read = value ? value->getAsInteger() : std::nullopt;
    if (!read || *read < 0)
      return fail(key, "expected an integer, 0 or more");
    number = *read;
    return true;
  }
  bool read(llvm::StringRef key, llvm::StringRef &text) {
    const json::Value *value = find(key);
    std::optional<llvm::StringRef> read =
        value ? value->getAsString() : std::nullopt;
    if (!read)
      return fail(key, "expected a string");
    text = *read;
    return true;
  }
  const json::Array *readArray(llvm::StringRef key) {
    const json::Value *value = find(key);
    const json::Array *array = value ? value->getAsArray() : nullptr;
    if (!array)
      fail(key, "expected a list");
    return array;
  }
  /// A number that may be null or missing, -1 then.
  bool readNumberOrNone(llvm::StringRef key, int32_t &number) {
    const json::Value *value = find(key);
    number = -1;
    if (!value || value->getAsNull())
      return true;
    std::optional<int64_t> read = value->getAsInteger();
    if (!read || *read < 0 || *read > INT32_MAX)
      return fail(key, "expected null or an integer, 0 or more");
    number = *read;
    return true;
  }
  bool fail(llvm::StringRef key, llvm::StringLiteral message) {
    path.field(key).report(message);
    return false;
  }

  const json::Value *find(llvm::StringRef key) const {
    return object ? object->get(key) : nullptr;
  }
  json::Path getPath(llvm::StringRef key) const { return path.field(key); }

private:
  const json::Object *object;
  json::Path path;
};

class SimulationReader {
public:
  SimulationReader(const json::Value &value, Drawing &drawing)
      : value(value), drawing(drawing) {}

  bool read(json::Path path);

private:
  bool readMeshes(Members &top);
  bool readMesh(const json::Value &value, Drawing::Mesh &mesh, json::Path path);
  bool readEdges(Members &top);
  bool readItems(Members &top);
  bool readItem(const json::Value &value, json::Path path);
  bool readWaits(const json::Array &waits, json::Path path);
  bool readCriticalPath(Members &top);
  bool readMeshName(Members &members, llvm::StringRef key, uint32_t &mesh);

  const json::Value &value;
  Drawing &drawing;
  llvm::StringMap<uint32_t> meshes;
  size_t numItems = 0;
};
} // namespace

bool SimulationReader::readMeshName(Members &members, llvm::StringRef key,
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

bool SimulationReader::readMesh(const json::Value &value, Drawing::Mesh &mesh,
                                json::Path path) {
  Members members(value, path);
  if (!members.isObject() || !members.read("busy_s", mesh.busy) ||
      !members.read("bubble", mesh.bubble) ||
      !members.read("peak_bytes", mesh.peak))
    return false;
  if (members.find("peak")) {
    const json::Array *shares = members.readArray("peak");
    if (!shares)
      return false;
    json::Path list = path.field("peak");
    for (auto [index, each] : llvm::enumerate(*shares)) {
      Members share(each, list.index(index));
      llvm::StringRef what;
      double bytes;
      if (!share.isObject() || !share.read("what", what) ||
          !share.read("bytes", bytes))
        return false;
      mesh.shares.push_back({what.str(), bytes});
    }
  }
  if (!members.find("memory"))
    return true;
  const json::Array *levels = members.readArray("memory");
  if (!levels)
    return false;
  json::Path list = path.field("memory");
  for (auto [index, each] : llvm::enumerate(*levels)) {
    const json::Array *pair = each.getAsArray();
    std::optional<double> time, amount;
    if (pair && pair->size() == 2) {
      time = (*pair)[0].getAsNumber();
      amount = (*pair)[1].getAsNumber();
    }
    double last = mesh.levels.empty() ? 0 : mesh.levels.back().time;
    if (!time || !amount || *time < last || *time > kMostFigure ||
        *amount < 0 || *amount > kMostFigure) {
      list.index(index).report("expected a time, not before the last, and the "
                               "bytes from then on, both up to 1e30");
      return false;
    }
    mesh.levels.push_back({*time, *amount});
  }
  return true;
}

bool SimulationReader::readMeshes(Members &top) {
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

bool SimulationReader::readEdges(Members &top) {
  if (!top.find("edges"))
    return true;
  const json::Array *edges = top.readArray("edges");
  if (!edges)
    return false;
  json::Path list = top.getPath("edges");
  for (auto [index, each] : llvm::enumerate(*edges)) {
    Members members(each, list.index(index));
    Drawing::Edge edge{};
    if (!members.isObject() || !readMeshName(members, "source", edge.source) ||
        !readMeshName(members, "target", edge.target) ||
        !members.read("bytes", edge.bytes) ||
        !members.read("transfers", edge.transfers) ||
        !members.read("busy_s", edge.busy) ||
        !members.read("slack_s", edge.slack))
      return false;
    drawing.edges.push_back(edge);
  }
  return true;
}

bool SimulationReader::readWaits(const json::Array &waits, json::Path path) {
  for (auto [index, each] : llvm::enumerate(waits)) {
    std::optional<int64_t> item = each.getAsInteger();
    if (!item || *item < 0 || *item >= static_cast<int64_t>(numItems)) {
      path.index(index).report("expected the number of an item");
      return false;
    }
    drawing.waits.push_back(*item);
  }
  return true;
}

bool SimulationReader::readItem(const json::Value &value, json::Path path) {
  Members members(value, path);
  Drawing::Bar bar;
  llvm::StringRef kind, name;
  if (!members.isObject() || !readMeshName(members, "mesh", bar.mesh) ||
      !members.read("kind", kind) || !members.read("name", name) ||
      !members.readNumberOrNone("stage", bar.stage) ||
      !members.readNumberOrNone("microbatch", bar.microbatch) ||
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
  std::string origins;
  if (members.find("origins")) {
    const json::Array *list = members.readArray("origins");
    if (!list)
      return false;
    for (auto [index, each] : llvm::enumerate(*list)) {
      std::optional<llvm::StringRef> origin = each.getAsString();
      if (!origin) {
        members.getPath("origins").report("expected a list of strings");
        return false;
      }
      origins += (index ? ", " : "") + origin->str();
    }
  }
  bar.origins = drawing.names.add(origins);
  const json::Array *waits = members.readArray("waits_for");
  if (!waits || !readWaits(*waits, path.field("waits_for")))
    return false;
  drawing.endWaits();
  drawing.bars.push_back(bar);
  return true;
}

bool SimulationReader::readItems(Members &top) {
  if (!top.find("items"))
    return top.fail("items", "missing; ask `meshwright simulate` for them with "
                             "--items");
  const json::Array *items = top.readArray("items");
  if (!items)
    return false;
  numItems = items->size();
  drawing.bars.reserve(numItems);
  json::Path list = top.getPath("items");
  for (auto [index, item] : llvm::enumerate(*items))
    if (!readItem(item, list.index(index)))
      return false;
  return true;
}

/// Items by number, or objects that have one.
bool SimulationReader::readCriticalPath(Members &top) {
  if (!top.find("critical_path"))
    return true;
  const json::Array *items = top.readArray("critical_path");
  if (!items)
    return false;
  json::Path list = top.getPath("critical_path");
  for (auto [index, each] : llvm::enumerate(*items)) {
    const json::Object *object = each.getAsObject();
    const json::Value *number = object ? object->get("item") : &each;
    std::optional<int64_t> item =
        number ? number->getAsInteger() : std::nullopt;
    if (!item || *item < 0 || *item >= static_cast<int64_t>(numItems)) {
      list.index(index).report("expected the number of an item");
      return false;
    }
    drawing.criticalPath.push_back(*item);
  }
  return true;
}

bool SimulationReader::read(json::Path path) {
  Members top(value, path);
  int64_t version = 0;
  if (!top.isObject() || !top.read("version", version))
    return false;
  if (version != 1)
    return top.fail("version", "expected 1; the file is of another Meshwright");
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
  if (!readMeshes(top) || !readEdges(top) || !readItems(top) ||
      !readCriticalPath(top))
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
