//===- PartitionConfig.cpp - What to partition, onto what -----------------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

#include "meshwright/Partitioner/PartitionConfig.h"
#include "meshwright/Schedule/Schedule.h"
#include "meshwright/Text/LocatedJson.h"
#include "meshwright/Text/NearestName.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SmallVectorExtras.h"
#include "llvm/ADT/StringSwitch.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace mlir::mpmd;
using namespace meshwright;
using Kind = JsonValue::Kind;
using Options = PartitionConfig::Options;

static constexpr StringLiteral kConfigKeys[] = {
    "function",     "topology",       "assignment",
    "input_meshes", "output_meshes",  "donate",
    "merge_rules",  "schedule_rules", "options"};

namespace {
struct Switch {
  StringLiteral key;
  bool Options::*field;
  /// Where it depends on the schedule what is on by itself.
  std::optional<bool> Options::*optionalField = nullptr;

  void set(Options &options, bool value) const {
    if (optionalField)
      options.*optionalField = value;
    else
      options.*field = value;
  }
};
} // namespace

static constexpr StringLiteral kScheduleKey = "mpmd_pipeline_schedule";
static constexpr StringLiteral kMaxInlinedOpsKey = "mpmd_max_inlined_ops";
static const Switch kSwitches[] = {
    {"mpmd_infer_transfers", &Options::inferTransfers},
    {"mpmd_infer_cross_mesh_reductions", &Options::inferCrossMeshReductions},
    {"mpmd_fragment_remat", &Options::fragmentRemat},
    {"mpmd_merge_remat_fragments", &Options::mergeRematFragments},
    {"mpmd_split_bwd_fragments", nullptr, &Options::splitBwdFragments},
    {"mpmd_assume_homogeneous_devices", &Options::assumeHomogeneousDevices},
    {"mpmd_absorb_inferred_fragments_on_entry_point_function",
     &Options::absorbInferredFragmentsOnEntryPoint},
    {"mpmd_copy_constant_creation_from_producer_to_consumer",
     &Options::copyConstants},
    {"mpmd_apply_merge_transfers_pass", &Options::applyMergeTransfers},
    {"mpmd_merge_inferred_after_scheduling", nullptr,
     &Options::mergeInferredAfterScheduling},
    {"mpmd_fail_on_backward_deps", &Options::failOnBackwardDeps},
    {"mpmd_complete_schedule", &Options::completeSchedule},
};

static LogicalResult expect(const JsonValue &value, Kind kind,
                            const Twine &key) {
  if (value.is(kind))
    return success();
  return value.emitError() << key << ": expected " << describe(kind)
                           << ", but got " << describe(value.kind);
}

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
  if (failed(expect(value, Kind::String, key)))
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

/// '@' and '#' part a mesh from a name and from a memory kind.
static bool isMeshName(StringRef name) {
  return !name.empty() && llvm::none_of(name, [](unsigned char c) {
    return c < 0x20 || c == 0x7f || StringRef("@#\"\\").contains(c);
  });
}

static LogicalResult readTopology(const JsonValue &value,
                                  PartitionConfig &config) {
  if (failed(expect(value, Kind::Object, "topology")))
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
             << ": a mesh name is not empty and has neither '@' nor '#', "
                "neither a quotation mark nor a backslash, and no control "
                "character in it; rename the mesh";
    if (failed(expect(mesh.value, Kind::Object, key)))
      return failure();
    PartitionConfig::Mesh &result = config.topology.emplace_back();
    result.name = name.str();
    int64_t devices = 1;
    for (const JsonMember &axis : mesh.value.members) {
      std::string axisKey = key + "." + axis.key.string;
      if (failed(expect(axis.value, Kind::Integer, axisKey)))
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
  if (failed(expect(value, Kind::Object, "assignment")))
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
      if (failed(expect(stage, Kind::Integer, key + "[1]")))
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
  if (failed(expect(value, Kind::Array, key)))
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
  if (failed(expect(value, Kind::Array, "donate")))
    return failure();
  for (auto [index, element] : llvm::enumerate(value.elements)) {
    std::string key = ("donate[" + Twine(index) + "]").str();
    if (failed(expect(element, Kind::Integer, key)))
      return failure();
    if (element.integer < 0)
      return element.emitError() << key << ": expected the index of an "
                                 << "argument, but got " << element.integer;
    config.donate.push_back(element.integer);
  }
  return success();
}

llvm::Error meshwright::setSchedule(PartitionConfig &config, StringRef name) {
  if (!name.contains(':') && !findSchedule(name)) {
    auto known =
        llvm::map_to_vector(getSchedules(), [](const Schedule *schedule) {
          return StringRef(schedule->name);
        });
    return llvm::createStringError("unknown schedule \"" + name + "\", " +
                                   listKnown(name, known));
  }
  llvm::Expected<ScheduleOption> schedule = parseSchedule(name);
  if (!schedule)
    return schedule.takeError();
  config.options.schedule = std::move(*schedule);
  return llvm::Error::success();
}

/// A list of rules, each a text as pass options have it.
template <typename Rule>
static LogicalResult readRules(const JsonValue &value, StringRef key,
                               llvm::Expected<Rule> (*parse)(StringRef),
                               SmallVectorImpl<Rule> &rules) {
  if (failed(expect(value, Kind::Array, key)))
    return failure();
  for (auto [index, element] : llvm::enumerate(value.elements)) {
    std::string place = (key + "[" + Twine(index) + "]").str();
    if (failed(expect(element, Kind::String, place)))
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
  if (failed(expect(value, Kind::Object, "options")))
    return failure();
  SmallVector<StringRef> known = llvm::map_to_vector(
      kSwitches, [](const Switch &entry) -> StringRef { return entry.key; });
  known.append({kScheduleKey, kMaxInlinedOpsKey});
  for (const JsonMember &entry : value.members) {
    if (failed(checkKey(entry, "options: ", known)))
      return failure();
    std::string key = "options." + entry.key.string;
    if (entry.key.string == kScheduleKey) {
      if (failed(expect(entry.value, Kind::String, key)))
        return failure();
      if (llvm::Error error = setSchedule(config, entry.value.string))
        return entry.value.emitError()
               << key << ": " << llvm::toString(std::move(error));
      continue;
    }
    if (entry.key.string == kMaxInlinedOpsKey) {
      if (failed(expect(entry.value, Kind::Integer, key)))
        return failure();
      if (entry.value.integer < 0)
        return entry.value.emitError()
               << key << ": expected 0 or more, but got "
               << entry.value.integer;
      config.options.maxInlinedOps = entry.value.integer;
      continue;
    }
    if (failed(expect(entry.value, Kind::Boolean, key)))
      return failure();
    for (const Switch &option : kSwitches)
      if (option.key == entry.key.string)
        option.set(config.options, entry.value.boolean);
  }
  return success();
}

static LogicalResult readMember(StringRef key, const JsonValue &value,
                                PartitionConfig &config) {
  if (key == "function") {
    config.function = value.string;
    return expect(value, Kind::String, key);
  }
  if (key == "assignment")
    return readAssignment(value, config);
  if (key == "input_meshes")
    return readMeshList(value, key, config, config.inputMeshes);
  if (key == "output_meshes")
    return readMeshList(value, key, config, config.outputMeshes);
  if (key == "donate")
    return readDonate(value, config);
  if (key == "merge_rules")
    return readRules(value, key, parseFragmentMergeRule, config.mergeRules);
  if (key == "schedule_rules")
    return readRules(value, key, parseFragmentScheduleRule,
                     config.scheduleRules);
  if (key == "options")
    return readOptions(value, config);
  return success();
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

  // The other keys mention meshes, wherever they stand in the file.
  PartitionConfig config;
  if (failed(readTopology(*topology, config)))
    return failure();
  for (const JsonMember &member : root->members)
    if (failed(readMember(member.key.string, member.value, config)))
      return failure();
  return config;
}
