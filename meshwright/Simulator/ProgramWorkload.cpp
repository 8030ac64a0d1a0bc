//===- ProgramWorkload.cpp - A program as a workload ----------------------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

#include "meshwright/Simulator/ProgramWorkload.h"
#include "meshwright/Cost/TensorBytes.h"
#include "meshwright/Simulator/Program/ItemRoles.h"
#include "meshwright/Simulator/Program/SplitOverlaps.h"
#include "meshwright/Simulator/Times.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include <map>

using namespace mlir;
using namespace meshwright;

namespace {
class WorkloadMaker {
public:
  WorkloadMaker(const ExportedProgram &program, const ProgramTimes &times)
      : program(program), times(times) {
    takeRoles();
  }

  FailureOr<ProgramWorkload> build();

private:
  using Item = ExportedProgram::Item;

  void takeRoles();
  void addMeshes();
  int64_t countHeldBytes(const ExportedProgram::Value &value,
                         llvm::StringRef layout);
  std::vector<llvm::StringRef> findLayouts();
  void addValues();
  void addCode();
  const CompiledMetrics::Fragment *
  findCompiled(const ExportedProgram::Fragment &fragment);
  LogicalResult addCall(uint32_t index);
  void addTransfer(uint32_t index);
  FailureOr<uint32_t> getRun(uint32_t index);
  FailureOr<double> findHidden(uint32_t index, const FragmentCost &cost);
  Ticks findDuration(const Item &item, const FragmentCost &cost, double hidden);
  void countTraffic(const Item &item, const FragmentCost &cost);
  void addDelays();
  HostWay findHostWay(const Item &item) const;
  Route findRoute(const Item &item) const;
  void setTransferTimes(const Item &item, Workload::Activity &activity);
  const Device &getDevice() const { return times.costs.getDevice(); }

  const ExportedProgram &program;
  const ProgramTimes &times;
  std::vector<ItemRole> roles;
  /// Without overlapped pairs, if the program has some.
  std::optional<SplitProgram> split;
  ProgramWorkload result;
  /// By fragment, stage, kind, origins and whether it is done again.
  std::map<
      std::tuple<unsigned, int32_t, ItemKind, std::vector<std::string>, bool>,
      uint32_t>
      runs;
  std::set<std::string> missing;
  std::map<std::tuple<uint32_t, std::string, std::string>, Workload::Traffic>
      traffic;
  std::vector<int64_t> firstDevice; ///< Of each mesh, if all lie in a row.
};
} // namespace

static bool isOnHost(const ExportedProgram::Value &value) {
  return llvm::StringRef(value.memoryKind).contains("host");
}

/// A pair has the stage and microbatch of its first part; what it hands on has those
/// of the part that it is of.
void WorkloadMaker::takeRoles() {
  if (!hasOverlaps(program)) {
    roles = findRoles(program);
    return;
  }
  split = splitOverlaps(program);
  std::vector<ItemRole> ofParts = findRoles(split->program);
  for (auto [index, item] : llvm::enumerate(program.items)) {
    ItemRole &role = roles.emplace_back(ofParts[split->firstItem[index]]);
    if (!item->parts.empty())
      role.kind = ItemKind::Overlapped;
  }
}

/// What a pair takes less than its parts alone, and another fragment of a program with
/// pairs less than all of its kernels and collectives.
FailureOr<double> WorkloadMaker::findHidden(uint32_t index,
                                            const FragmentCost &cost) {
  if (!split)
    return 0.0;
  if (program.items[index]->parts.empty())
    return getHiddenSeconds(cost, times.costs.getDevice());
  std::vector<FragmentCost> parts;
  for (unsigned own = split->firstItem[index];
       own < split->firstItem[index + 1]; ++own) {
    unsigned fragment = *split->program.items[own]->fragment;
    FailureOr<FragmentCost> cost =
        times.costs.estimate(split->program.fragments[fragment].function);
    if (failed(cost))
      return failure();
    parts.push_back(std::move(*cost));
  }
  double sum = parts[0].getSeconds() + parts[1].getSeconds();
  return std::max(0.0, sum - getOverlappedSeconds(parts[0], parts[1],
                                                  times.costs.getDevice()));
}

void WorkloadMaker::addMeshes() {
  Workload &workload = result.workload;
  int64_t numDevices = 0;
  size_t numMeshes = program.meshes.size();
  for (auto [index, mesh] : llvm::enumerate(program.meshes)) {
    int64_t devices = std::max<int64_t>(1, mesh.shape.getTotalSize());
    auto issuer = static_cast<uint32_t>(index * times.processes / numMeshes);
    workload.meshes.push_back({mesh.name, issuer, devices});
    firstDevice.push_back(numDevices);
    numDevices += devices;
  }
  workload.queues.resize(numMeshes);
  for (const ExportedProgram::Mesh &mesh : program.meshes)
    for (unsigned item : mesh.items)
      if (program.items[item]->fragment)
        workload.queues[&mesh - program.meshes.data()].push_back(item);
  const Device &device = getDevice();
  workload.peakFlops = device.bf16 ? *device.bf16 : device.f32.value_or(0);
  bool hasProfile = times.profile && times.profile->issueSeconds > 0;
  workload.issueCost =
      toTicks(hasProfile ? times.profile->issueSeconds : kUsualIssueSeconds);
}

/// What a device of the mesh keeps of a value in its own memory.
int64_t WorkloadMaker::countHeldBytes(const ExportedProgram::Value &value,
                                      llvm::StringRef layout) {
  if (isOnHost(value))
    return 0;
  RankedTensorType type = value.type;
  if (value.sharding)
    type = value.sharding.getLocalTensorType(type,
                                             program.meshes[value.mesh].shape);
  return countBytes(type, getDevice(), parseOrder(layout));
}

/// The layouts of values, as the program or what reads and makes them has it.
std::vector<llvm::StringRef> WorkloadMaker::findLayouts() {
  std::vector<llvm::StringRef> layouts(program.values.size());
  auto note = [&](unsigned value, const ExportedProgram::Slot &slot) {
    if (layouts[value].empty())
      layouts[value] = slot.layout;
  };
  for (const auto *ends : {&program.inputs, &program.outputs})
    for (const ExportedProgram::Boundary &end : *ends)
      note(end.value, end.slot);
  for (const Item &item : program.items) {
    if (!item->fragment)
      continue;
    const ExportedProgram::Fragment &fragment =
        program.fragments[*item->fragment];
    for (auto [value, slot] : llvm::zip(item.operands, fragment.arguments))
      note(value, slot);
    for (auto [value, slot] : llvm::zip(item.results, fragment.results))
      note(value, slot);
  }
  return layouts;
}

/// Values have the positions that they have in the program.
void WorkloadMaker::addValues() {
  Workload &workload = result.workload;
  std::vector<llvm::StringRef> layouts = findLayouts();
  for (auto [number, layout] : llvm::enumerate(layouts)) {
    const ExportedProgram::Value &value = program.values[number];
    workload.addValue(value.mesh, kNoItem, countHeldBytes(value, layout));
  }
  for (auto [index, item] : llvm::enumerate(program.items))
    for (unsigned value : item.results)
      workload.values[value].producer = index;
  for (const ExportedProgram::Boundary &input : program.inputs)
    workload.values[input.value].isKept = !input.slot.isDonated;
  for (const ExportedProgram::Boundary &output : program.outputs)
    workload.values[output.value].isKept = true;
}

Ticks WorkloadMaker::findDuration(const Item &item, const FragmentCost &cost,
                                  double hidden) {
  const ExportedProgram::Fragment &fragment =
      program.fragments[*item->fragment];
  std::string mesh = program.meshes[item->toMesh].name;
  std::string name = func::FuncOp(fragment.function).getSymName().str();
  if (times.profile) {
    if (std::optional<double> seconds = times.profile->findSeconds(
            name, mesh, item->origins, fragment.flops))
      return toTicks(*seconds);
    missing.insert(name + " on mesh " + mesh);
  }
  const CompiledMetrics::Fragment *compiled = findCompiled(fragment);
  if (compiled && compiled->seconds) {
    // It leaves out collectives, and what it copies to the chip meanwhile.
    double moving = cost.bytes / getDevice().getMemorySpeed();
    return toTicks(std::max(*compiled->seconds, moving) +
                   std::max(0.0, cost.collectiveSeconds - hidden));
  }
  if (compiled)
    result.notTimed.insert(name);
  return toTicks(std::max(0.0, cost.getSeconds() - hidden));
}

const CompiledMetrics::Fragment *
WorkloadMaker::findCompiled(const ExportedProgram::Fragment &fragment) {
  if (!times.compiled)
    return nullptr;
  func::FuncOp function(fragment.function);
  const auto *found = times.compiled->find(function.getSymName());
  if (!found)
    result.notCompiled.insert(function.getSymName().str());
  return found;
}

/// The code of all fragments that a mesh runs, each of which is there once.
void WorkloadMaker::addCode() {
  std::set<std::pair<uint32_t, unsigned>> seen;
  for (const Item &item : program.items) {
    if (!item->fragment || !seen.insert({item->toMesh, *item->fragment}).second)
      continue;
    if (const auto *found = findCompiled(program.fragments[*item->fragment]))
      addCount(result.workload.meshes[item->toMesh].codeBytes,
               found->codeBytes);
  }
}

FailureOr<uint32_t> WorkloadMaker::getRun(uint32_t index) {
  const Item &item = program.items[index];
  const ItemRole &role = roles[index];
  auto [entry, isNew] = runs.try_emplace(
      {*item->fragment, role.stage, role.kind, item->origins, item->isRemat},
      result.workload.activities.size());
  if (!isNew)
    return entry->second;
  const ExportedProgram::Fragment &fragment =
      program.fragments[*item->fragment];
  FailureOr<FragmentCost> cost = times.costs.estimate(fragment.function);
  if (failed(cost))
    return failure();
  FailureOr<double> hidden = findHidden(index, *cost);
  if (failed(hidden))
    return failure();
  result.uncounted.insert(cost->uncounted.begin(), cost->uncounted.end());
  result.unknownLoops += cost->unknownLoops;
  Workload::Activity &activity = result.workload.activities.emplace_back();
  activity.kind = role.kind;
  activity.mesh = activity.source = item->toMesh;
  activity.stage = role.stage;
  activity.name = func::FuncOp(fragment.function).getSymName().str();
  activity.origins = item->origins;
  activity.duration = findDuration(item, *cost, *hidden);
  activity.exchanging =
      std::min(activity.duration, toTicks(cost->collectiveSeconds));
  activity.temporaryBytes = roundCount(cost->temporaryBytes);
  if (const CompiledMetrics::Fragment *compiled = findCompiled(fragment))
    activity.temporaryBytes = compiled->temporaryBytes;
  activity.flops = item->isRemat ? 0 : cost->total.flops;
  return entry->second;
}

void WorkloadMaker::countTraffic(const Item &item, const FragmentCost &cost) {
  for (const Collective &collective : cost.collectives) {
    std::string axes =
        collective.axes.empty() ? "listed" : llvm::join(collective.axes, ", ");
    llvm::erase(axes, '"'); // As MLIR writes them: "x":(1)2.
    llvm::StringRef kind = getName(collective.kind);
    Workload::Traffic &sum = traffic[{item->toMesh, axes, kind.str()}];
    sum.mesh = item->toMesh;
    sum.axes = axes;
    sum.kind = kind.str();
    sum.count += collective.count;
    sum.bytes += collective.count * collective.bytes;
    sum.seconds += collective.count * estimateSeconds(collective, getDevice());
  }
}

LogicalResult WorkloadMaker::addCall(uint32_t index) {
  const Item &item = program.items[index];
  FailureOr<uint32_t> activity = getRun(index);
  if (failed(activity))
    return failure();
  const ExportedProgram::Fragment &fragment =
      program.fragments[*item->fragment];
  countTraffic(item, *times.costs.estimate(fragment.function));
  Workload &workload = result.workload;
  workload.items.push_back({*activity, roles[index].microbatch});
  for (auto [argument, operand] :
       llvm::zip(fragment.arguments, item.operands)) {
    workload.operands.push_back(operand);
    workload.fates.push_back(argument.alias ? item.results[*argument.alias]
                             : argument.isDonated ? Workload::kGivenUp
                                                  : Workload::kRead);
  }
  workload.firstOperand.push_back(workload.operands.size());
  return success();
}

/// A transfer that is delayed waits for the run before it in the order of its mesh, a run
/// for the last of what has to be on the host.
void WorkloadMaker::addDelays() {
  if (llvm::none_of(program.items, [](const Item &item) {
        return item->isDelayed || !item.awaits.empty();
      }))
    return;
  Workload &workload = result.workload;
  workload.after.assign(program.items.size(), kNoItem);
  for (auto [number, mesh] : llvm::enumerate(program.meshes)) {
    uint32_t last = kNoItem;
    for (unsigned index : mesh.items) {
      const Item &item = program.items[index];
      if (item->fragment) {
        last = index;
        for (unsigned value : item.awaits) {
          uint32_t copy = workload.values[value].producer;
          uint32_t &after = workload.after[index];
          after = after == kNoItem ? copy : std::max(after, copy);
        }
      } else if (item->isDelayed && item->toMesh == number)
        workload.after[index] = last;
    }
  }
}

HostWay WorkloadMaker::findHostWay(const Item &item) const {
  bool fromHost = isOnHost(program.values[item.operands.front()]);
  bool toHost = isOnHost(program.values[item.results.front()]);
  if (item->fromMesh != item->toMesh || fromHost == toHost)
    return HostWay::None;
  return toHost ? HostWay::There : HostWay::Back;
}

Route WorkloadMaker::findRoute(const Item &item) const {
  const auto &from = program.values[item.operands.front()];
  const auto &to = program.values[item.results.front()];
  if (isOnHost(from) || isOnHost(to))
    return Route::Host;
  if (item->fromMesh == item->toMesh)
    return from.sharding == to.sharding ? Route::SameDevices : Route::Domain;
  auto getRange = [&](unsigned mesh) {
    return DeviceRange{firstDevice[mesh], result.workload.meshes[mesh].devices};
  };
  return getRoute(getRange(item->fromMesh), getRange(item->toMesh),
                  getDevice());
}

void WorkloadMaker::setTransferTimes(const Item &item,
                                     Workload::Activity &activity) {
  const Device &device = getDevice();
  Route route = findRoute(item);
  if (route != Route::SameDevices) {
    const auto &meshes = result.workload.meshes;
    double bytes = countTransferBytes(
        static_cast<double>(program.values[item.results.front()].deviceBytes),
        meshes[item->fromMesh].devices, meshes[item->toMesh].devices);
    activity.latency = toTicks(device.latency);
    activity.duration =
        toTicks(getTransferTime(bytes, device, route) - device.latency);
  }
  if (!times.profile)
    return;
  // What was measured has both in one; links are busy as long as is known.
  if (std::optional<double> seconds = times.profile->findTransferSeconds(
          program.meshes[item->fromMesh].name,
          program.meshes[item->toMesh].name,
          static_cast<double>(activity.bytes))) {
    Ticks measured = toTicks(*seconds);
    activity.duration = std::min(activity.duration, measured);
    activity.latency = measured - activity.duration;
  }
}

void WorkloadMaker::addTransfer(uint32_t index) {
  const Item &item = program.items[index];
  Workload &workload = result.workload;
  workload.items.push_back({static_cast<uint32_t>(workload.activities.size()),
                            roles[index].microbatch});
  Workload::Activity activity;
  activity.kind = roles[index].kind;
  activity.hostWay = findHostWay(item);
  activity.source = item->fromMesh;
  activity.mesh = item->toMesh;
  activity.stage = roles[index].stage;
  activity.name = program.meshes[item->fromMesh].name + " -> " +
                  program.meshes[item->toMesh].name;
  activity.bytes = program.values[item.results.front()].bytes;
  setTransferTimes(item, activity);
  workload.activities.push_back(std::move(activity));
  workload.operands.push_back(item.operands.front());
  workload.fates.push_back(Workload::kRead);
  workload.firstOperand.push_back(workload.operands.size());
}

FailureOr<ProgramWorkload> WorkloadMaker::build() {
  addMeshes();
  addValues();
  addCode();
  addDelays();
  for (uint32_t index = 0; index < program.items.size(); ++index) {
    if (!program.items[index]->fragment)
      addTransfer(index);
    else if (failed(addCall(index)))
      return failure();
  }
  result.missing.assign(missing.begin(), missing.end());
  for (auto &[key, sum] : traffic)
    result.workload.traffic.push_back(sum);
  return std::move(result);
}

FailureOr<ProgramWorkload>
meshwright::makeWorkload(const ExportedProgram &program,
                         const ProgramTimes &times) {
  return WorkloadMaker(program, times).build();
}
