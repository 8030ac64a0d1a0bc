//===- PartitionConfig.cpp - What to partition, onto what -----------------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

#include "meshwright/Partitioner/PartitionConfig.h"
#include "meshwright/Text/LocatedJson.h"
#include "meshwright/Text/NearestName.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SmallVectorExtras.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace mlir::mpmd;
using namespace meshwright;
using Kind = JsonValue::Kind;

static constexpr StringLiteral kConfigKeys[] = {
    "function",     "topology",       "assignment", "allow_unknown_names",
    "input_meshes", "output_meshes",  "donate",     "shared_devices",
    "merge_rules",  "schedule_rules", "options"};

static LogicalResult checkKey(const JsonMember &member, const Twine &scope,
                              ArrayRef<StringRef> known) {
  StringRef key = member.key.string;
  if (llvm::is_contained(known, key))
    return success();
  return member.key.emitError()
         << scope << "unknown key \"" << key << "\", " << listKnown(key, known);
}

/// A mesh may carry a memory kind after '#', which is not part of its name.
static LogicalResult checkMesh(const JsonValue &value, const Twine &key,
                               const PartitionConfig &config) {
  if (failed(expectKind(value, Kind::String, key)))
    return failure();
  auto [name, kind] = StringRef(value.string).split('#');
  if (kind.empty())
    name = value.string;
  auto known = llvm::map_to_vector(
      config.topology,
      [](const PartitionConfig::Mesh &mesh) { return StringRef(mesh.name); });
  if (llvm::is_contained(known, name))
    return success();
  return value.emitError() << key << ": unknown mesh \"" << name << "\", "
                           << listKnown(name, known);
}

/// '@' and '#' part a mesh from a name and from a memory kind; "*" represents
/// all other meshes where meshes are inferred.
static bool isMeshName(StringRef name) {
  return !name.empty() && name != "*" &&
         llvm::none_of(name, [](unsigned char c) {
           return c < 0x20 || c == 0x7f || StringRef("@#\"\\").contains(c);
         });
}

static LogicalResult readTopology(const JsonValue &value,
                                  PartitionConfig &config) {
  if (failed(expectKind(value, Kind::Object, "topology")))
    return failure();
  if (value.members.empty())
    return value.emitError() << "topology: expected at least one mesh, as in "
                                "{\"m1\": {\"x\": 2}}";
  for (const JsonMember &mesh : value.members) {
    StringRef name = mesh.key.string;
    std::string key = ("topology." + name).str();
    if (!isMeshName(name))
      return mesh.key.emitError()
             << key
             << ": a mesh name is not empty, is not '*' and has neither '@' "
                "nor '#', neither a quotation mark nor a backslash, and no "
                "control character in it; rename the mesh";
    if (failed(expectKind(mesh.value, Kind::Object, key)))
      return failure();
    PartitionConfig::Mesh &result = config.topology.emplace_back();
    result.name = name.str();
    int64_t devices = 1;
    for (const JsonMember &axis : mesh.value.members) {
      std::string axisKey = key + "." + axis.key.string;
      if (failed(expectKind(axis.value, Kind::Integer, axisKey)))
        return failure();
      if (axis.key.string.empty() || axis.value.integer <= 0)
        return axis.value.emitError()
               << axisKey << ": expected a named axis of positive size, but "
               << "got " << axis.value.integer;
      if (llvm::MulOverflow(devices, axis.value.integer, devices))
        return axis.value.emitError()
               << axisKey << ": with this axis, the mesh has more devices than "
               << "fit 64 bits";
      result.axes.push_back({axis.key.string, axis.value.integer});
    }
  }
  return success();
}

/// Either "mesh" or ["mesh", stage].
static LogicalResult readAssignment(const JsonValue &value,
                                    PartitionConfig &config) {
  if (failed(expectKind(value, Kind::Object, "assignment")))
    return failure();
  for (const JsonMember &entry : value.members) {
    std::string key = "assignment." + entry.key.string;
    PartitionConfig::Assignment &result = config.assignment.emplace_back();
    result.name = entry.key.string;
    const JsonValue *mesh = &entry.value;
    if (mesh->is(Kind::Array)) {
      if (mesh->elements.size() != 2)
        return mesh->emitError() << key << ": expected [mesh, stage], but got "
                                 << mesh->elements.size() << " elements";
      const JsonValue &stage = mesh->elements[1];
      if (failed(expectKind(stage, Kind::Integer, key + "[1]")))
        return failure();
      if (stage.integer < 0)
        return stage.emitError() << key << "[1]: expected a stage of 0 or "
                                 << "more, but got " << stage.integer;
      result.stage = stage.integer;
      mesh = &mesh->elements[0];
    } else if (!mesh->is(Kind::String)) {
      return mesh->emitError()
             << key << ": expected a mesh or [mesh, stage], but got "
             << describe(mesh->kind);
    }
    if (failed(checkMesh(*mesh, key, config)))
      return failure();
    result.mesh = mesh->string;
  }
  return success();
}

static LogicalResult
readMeshList(const JsonValue &value, StringRef key,
             const PartitionConfig &config,
             std::vector<std::optional<std::string>> &result) {
  if (failed(expectKind(value, Kind::Array, key)))
    return failure();
  for (auto [index, element] : llvm::enumerate(value.elements)) {
    if (element.is(Kind::Null)) {
      result.emplace_back();
      continue;
    }
    if (failed(checkMesh(element, key + "[" + Twine(index) + "]", config)))
      return failure();
    result.emplace_back(element.string);
  }
  return success();
}

static LogicalResult readDonate(const JsonValue &value,
                                PartitionConfig &config) {
  if (failed(expectKind(value, Kind::Array, "donate")))
    return failure();
  for (auto [index, element] : llvm::enumerate(value.elements)) {
    std::string key = ("donate[" + Twine(index) + "]").str();
    if (failed(expectKind(element, Kind::Integer, key)))
      return failure();
    if (element.integer < 0)
      return element.emitError() << key << ": expected the index of an "
                                 << "argument, but got " << element.integer;
    config.donate.push_back(element.integer);
  }
  return success();
}

/// A list of [mesh, mesh].
static LogicalResult readSharedDevices(const JsonValue &value,
                                       PartitionConfig &config) {
  constexpr StringLiteral kKey = "shared_devices";
  if (failed(expectKind(value, Kind::Array, kKey)))
    return failure();
  for (auto [index, pair] : llvm::enumerate(value.elements)) {
    std::string key = (kKey + "[" + Twine(index) + "]").str();
    if (!pair.is(Kind::Array) || pair.elements.size() != 2)
      return pair.emitError() << key << ": expected [mesh, mesh]";
    for (const JsonValue &mesh : pair.elements)
      if (failed(checkMesh(mesh, key, config)))
        return failure();
    config.sharedDevices.emplace_back(pair.elements[0].string,
                                      pair.elements[1].string);
  }
  return success();
}

/// A list of rules, each a text as pass options have it.
template <typename Rule>
static LogicalResult readRules(const JsonValue &value, StringRef key,
                               llvm::Expected<Rule> (*parse)(StringRef),
                               std::vector<Rule> &rules) {
  if (failed(expectKind(value, Kind::Array, key)))
    return failure();
  for (auto [index, element] : llvm::enumerate(value.elements)) {
    std::string place = (key + "[" + Twine(index) + "]").str();
    if (failed(expectKind(element, Kind::String, place)))
      return failure();
    llvm::Expected<Rule> rule = parse(element.string);
    if (!rule)
      return element.emitError()
             << place << ": " << llvm::toString(rule.takeError());
    rules.push_back(std::move(*rule));
  }
  return success();
}

static LogicalResult readOptions(const JsonValue &value,
                                 PartitionConfig &config) {
  if (failed(expectKind(value, Kind::Object, "options")))
    return failure();
  for (const JsonMember &entry : value.members)
    if (failed(setOption(config.options, entry)))
      return failure();
  return success();
}

static LogicalResult readMember(StringRef key, const JsonValue &value,
                                PartitionConfig &config) {
  if (key == "function") {
    config.function = value.string;
    return expectKind(value, Kind::String, key);
  }
  if (key == "assignment")
    return readAssignment(value, config);
  if (key == "allow_unknown_names") {
    config.allowsUnknownNames = value.boolean;
    return expectKind(value, Kind::Boolean, key);
  }
  if (key == "input_meshes")
    return readMeshList(value, key, config, config.inputMeshes);
  if (key == "output_meshes")
    return readMeshList(value, key, config, config.outputMeshes);
  if (key == "donate")
    return readDonate(value, config);
  if (key == "shared_devices")
    return readSharedDevices(value, config);
  if (key == "merge_rules")
    return readRules(value, key, parseFragmentMergeRule,
                     config.options.optimizing.mergeRules);
  if (key == "schedule_rules")
    return readRules(value, key, parseFragmentScheduleRule,
                     config.options.optimizing.scheduleRules);
  if (key == "options")
    return readOptions(value, config);
  return success();
}

ConfigOptions PartitionConfig::resolveOptions() const {
  ConfigOptions resolved = options;
  resolved.completeForSchedule();
  for (const Assignment &entry : assignment)
    resolved.importing.nameAssignment.entries[entry.name] = {entry.mesh,
                                                             entry.stage};
  resolved.importing.inputAssignment = IndexAssignment(inputMeshes);
  resolved.importing.outputAssignment = IndexAssignment(outputMeshes);
  return resolved;
}

FailureOr<PartitionConfig>
meshwright::parsePartitionConfig(StringRef text, StringRef fileName,
                                 MLIRContext *context) {
  FailureOr<JsonValue> root = parseJson(text, fileName, context);
  if (failed(root))
    return failure();
  if (!root->is(Kind::Object))
    return root->emitError() << "expected a configuration object, but got "
                             << describe(root->kind);
  SmallVector<StringRef> keys(std::begin(kConfigKeys), std::end(kConfigKeys));
  const JsonValue *topology = nullptr;
  for (const JsonMember &member : root->members) {
    if (failed(checkKey(member, "", keys)))
      return failure();
    if (member.key.string == "topology")
      topology = &member.value;
  }
  if (!topology)
    return root->emitError()
           << "key \"topology\" is missing; it gives each mesh its axes, as in "
              "{\"m1\": {\"x\": 2}}";

  // The other keys mention meshes, wherever they are in the file.
  PartitionConfig config;
  if (failed(readTopology(*topology, config)))
    return failure();
  for (const JsonMember &member : root->members)
    if (failed(readMember(member.key.string, member.value, config)))
      return failure();
  return config;
}
