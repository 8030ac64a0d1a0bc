//===- OffloadActivations.cpp - What waits long, waits on the host --------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// The first stages of a pipeline hold the activations of many microbatches. They go to the
// memory of the host after they are made, and come back ahead of their backward:
//
//   %0 = fragment<"m", ["f"]> (%x)         %0 = fragment<"m", ["f"]> (%x)
//   %1 = fragment<"m", ["f"]> (%y)    ->   %h = transfer %0 -> "pinned_host"
//   …                                      %1 = fragment<"m", ["f"]> (%y)
//   %3 = fragment<"m", ["f"(1)]> (%1)      …
//   %4 = fragment<"m", ["f"(1)]> (%0)      %d = transfer %h {mpmd.delayed}
//                                          %3 = fragment<"m", ["f"(1)]> (%1)
//                                          %4 = fragment<"m", ["f"(1)]> (%d)
//
// When the program is timed, OffloadChoice decides for each mesh. What shares buffers is
// marked before: the type of an operand stays, and so does the program of a fragment.
//
//===----------------------------------------------------------------------===//

#include "meshwright/Cost/TensorBytes.h"
#include "meshwright/Dialect/Mpmd/BufferAttributes.h"
#include "meshwright/Dialect/Mpmd/Fragments.h"
#include "meshwright/Dialect/Mpmd/Functions.h"
#include "meshwright/Dialect/Mpmd/MemoryKinds.h"
#include "meshwright/Export/Offload/BlockTimes.h"
#include "meshwright/Export/Offload/BufferUses.h"
#include "meshwright/Export/Offload/OffloadChoice.h"
#include "meshwright/Export/Passes.h"
#include "meshwright/Text/ByteSize.h"
#include "mlir/IR/Remarks.h"
#include "llvm/ADT/STLExtras.h"
#include <map>

namespace mlir::mpmd {
#define GEN_PASS_DEF_OFFLOADACTIVATIONSPASS
#include "meshwright/Export/Passes.h.inc"
} // namespace mlir::mpmd

using namespace mlir;
using namespace mlir::mpmd;

namespace {
/// The values of one mesh, and what becomes of them.
class MeshOffload {
public:
  MeshOffload(StringAttr mesh, ArrayRef<FragmentOp> queue,
              const BlockTimes &times)
      : mesh(mesh), queue(queue), times(times) {
    for (auto [step, fragment] : llvm::enumerate(queue))
      steps[fragment] = step;
  }

  LogicalResult measure(func::FuncOp func, OverlapTimes &durations,
                        const meshwright::Device &device);
  StringAttr getMesh() const { return mesh; }
  int64_t getPeak() const;
  /// What keeps the mesh at a bound; without a bound, or if none does, what brings it
  /// nearest.
  HostPlan plan(std::optional<int64_t> bound) const;
  /// Lets values wait on the host, and returns their bytes.
  int64_t offload(const HostPlan &plan);
  unsigned getNumOffloaded() const { return numOffloaded; }

private:
  /// The last step that has started before `time`; the first one if none has.
  unsigned getStepAt(double time) const;
  void addValue(Value value, func::FuncOp func, int64_t bytes);
  void addToGroup(OpResult value, int64_t bytes);
  void send(const HostTrip &trip);

  StringAttr mesh;
  ArrayRef<FragmentOp> queue;
  const BlockTimes &times;
  DenseMap<Operation *, unsigned> steps;
  DeviceLoad load;
  std::vector<int64_t> changes; ///< Of what is held, by step.
  std::vector<WaitingGroup> groups;
  /// Of each group, as its sizes.
  std::vector<std::vector<OpResult>> values;
  std::map<std::tuple<unsigned, unsigned, double>, unsigned> groupIds;
  unsigned numOffloaded = 0;
};
} // namespace

unsigned MeshOffload::getStepAt(double time) const {
  auto isLater = [](double time, const DeviceLoad::Step &step) {
    return time < step.start;
  };
  auto found = llvm::upper_bound(load.steps, time, isLater);
  return found == load.steps.begin() ? 0 : found - load.steps.begin() - 1;
}

/// Adds what the devices hold of a value, from the step that makes it to the last one
/// that reads it.
void MeshOffload::addValue(Value value, func::FuncOp func, int64_t bytes) {
  unsigned first = 0, end = queue.size();
  if (Operation *producer = value.getDefiningOp()) {
    auto step = steps.find(producer);
    first = step != steps.end() ? step->second
                                : getStepAt(times.get(producer).start);
  }
  if (!isKept(value, func)) {
    end = first + 1;
    for (OpOperand &use : value.getUses()) {
      Operation *user = use.getOwner();
      auto step = steps.find(user);
      unsigned last = step == steps.end()
                          ? getStepAt(times.get(user).stop) + 1
                          : step->second + (isGivenUp(use) ? 0 : 1);
      end = std::max(end, last);
    }
  }
  meshwright::addCount(changes[first], bytes);
  meshwright::addCount(changes[end], -bytes);
}

/// Whether a fragment does work of the forward, or of the backward.
static bool hasForward(FragmentOp fragment) {
  return llvm::any_of(fragment.getOrigin(), [](Attribute origin) {
    return cast<UserOriginAttr>(origin).getTransposeCount() == 0;
  });
}
static bool hasBackward(FragmentOp fragment) {
  return getMaxTransposeCount(fragment).value_or(0) > 0;
}

/// What a forward makes and a backward reads may wait on the host meanwhile.
void MeshOffload::addToGroup(OpResult value, int64_t bytes) {
  auto producer = dyn_cast<FragmentOp>(value.getOwner());
  if (!producer || !hasForward(producer))
    return;
  std::vector<unsigned> touching{steps.at(producer)};
  double freeFrom = 0;
  for (Operation *user : value.getUsers()) {
    if (auto step = steps.find(user); step != steps.end())
      touching.push_back(step->second);
    else if (isa<TransferOp>(user))
      freeFrom = std::max(freeFrom, times.get(user).stop);
    else
      return;
  }
  llvm::sort(touching);
  unsigned last = 0, next = 0;
  for (auto [step, following] :
       llvm::zip(touching, ArrayRef(touching).drop_front()))
    if (following - step > next - last)
      std::tie(last, next) = std::pair(step, following);
  if (next <= last + 1 || !hasBackward(queue[next]))
    return;
  auto [entry, isNew] =
      groupIds.try_emplace({last, next, freeFrom}, groups.size());
  if (isNew) {
    groups.push_back({last, next, freeFrom, {}});
    values.emplace_back();
  }
  // The largest first.
  auto &sizes = groups[entry->second].bytes;
  size_t place =
      llvm::upper_bound(sizes, bytes, std::greater<>()) - sizes.begin();
  sizes.insert(sizes.begin() + place, bytes);
  auto &members = values[entry->second];
  members.insert(members.begin() + place, value);
}

LogicalResult MeshOffload::measure(func::FuncOp func, OverlapTimes &durations,
                                   const meshwright::Device &device) {
  load.latency = device.latency;
  load.secondsPerByte =
      1 / meshwright::getSpeed(meshwright::Route::Host, device);
  for (FragmentOp fragment : queue) {
    auto [start, stop] = times.get(fragment);
    FailureOr<double> temporaries = durations.getTemporaryBytes(fragment);
    if (failed(temporaries))
      return failure();
    load.steps.push_back({start, stop, meshwright::roundCount(*temporaries)});
  }
  changes.assign(queue.size() + 1, 0);
  LogicalResult result = success();
  auto add = [&](Value value) {
    auto type = dyn_cast<MeshTensorType>(value.getType());
    if (!type || type.getMeshName() != mesh.getValue() || type.isOnHost() ||
        isPinnedHost(getAttributeMemoryKind(value)))
      return;
    FailureOr<sdy::MeshAttr> shape = getMeshOrError(func, type.getMeshName());
    if (failed(shape)) {
      result = failure();
      return;
    }
    int64_t bytes =
        meshwright::countBytes(type.getLocalTensorType(*shape), device);
    addValue(value, func, bytes);
    if (auto made = dyn_cast<OpResult>(value))
      addToGroup(made, bytes);
  };
  llvm::for_each(func.getArguments(), add);
  for (Operation &op : func.front().without_terminator())
    llvm::for_each(op.getResults(), add);
  int64_t held = 0;
  for (auto [step, change] : llvm::zip(load.steps, changes)) {
    meshwright::addCount(held, change);
    meshwright::addCount(step.bytes, held);
  }
  return result;
}

int64_t MeshOffload::getPeak() const {
  int64_t peak = 0;
  for (const DeviceLoad::Step &step : load.steps)
    peak = std::max(peak, step.bytes);
  return peak;
}

/// Makes the two transfers of each value of a trip.
void MeshOffload::send(const HostTrip &trip) {
  const WaitingGroup &group = groups[trip.group];
  // What others wait for goes first.
  Operation *after = queue[group.last];
  while (isa<TransferOp>(after->getNextNode()))
    after = after->getNextNode();
  OpBuilder leaving(after->getContext());
  leaving.setInsertionPointAfter(after);
  OpBuilder returning(queue[trip.fetchStep]);
  for (OpResult value :
       ArrayRef(values[trip.group]).slice(trip.firstValue, trip.numValues)) {
    auto type = cast<MeshTensorType>(value.getType());
    auto hostType = MeshTensorType::get(
        type.getContext(), type.getMeshName(), type.getRankedTensorType(),
        type.getSharding(), leaving.getStringAttr(kMemoryKindPinnedHost));
    auto there = TransferOp::create(leaving, value.getLoc(), hostType, value);
    if (unsigned numBeside = trip.freedStep - group.last - 1)
      there->setAttr(kBesideAttr, leaving.getI64IntegerAttr(numBeside));
    auto back = TransferOp::create(returning, value.getLoc(), type, there);
    back->setAttr(kDelayedAttr, returning.getUnitAttr());
    value.replaceUsesWithIf(back, [&](OpOperand &use) {
      auto step = steps.find(use.getOwner());
      return step != steps.end() && step->second >= group.next;
    });
  }
}

HostPlan MeshOffload::plan(std::optional<int64_t> bound) const {
  if (bound)
    if (std::optional<HostPlan> found = chooseTrips(load, groups, *bound))
      return *found;
  return findSmallestPeak(load, groups);
}

int64_t MeshOffload::offload(const HostPlan &plan) {
  int64_t bytes = 0;
  for (const HostTrip &trip : plan.trips) {
    for (int64_t each : ArrayRef(groups[trip.group].bytes)
                            .slice(trip.firstValue, trip.numValues))
      meshwright::addCount(bytes, each);
    numOffloaded += trip.numValues;
    send(trip);
  }
  return bytes;
}

namespace {
struct OffloadActivationsPass
    : mpmd::impl::OffloadActivationsPassBase<OffloadActivationsPass> {
  using Base::Base;

  void runOnOperation() override {
    StringRef text = bound.getValue().text;
    if (text.empty())
      return markAllAnalysesPreserved();
    std::optional<int64_t> bytes;
    if (text != "auto") {
      llvm::Expected<int64_t> parsed = meshwright::parseByteSize(text);
      if (!parsed) {
        getOperation()->emitError()
            << "mpmd_offload_activations: "
            << llvm::toString(parsed.takeError()) << ", or auto";
        return signalPassFailure();
      }
      bytes = *parsed;
    }
    for (auto func : getOperation().getOps<func::FuncOp>())
      if (!func.isDeclaration() && isMpmdFunction(func) &&
          isEntryPointFunction(func) && failed(offload(func, bytes)))
        return signalPassFailure();
  }

private:
  LogicalResult offload(func::FuncOp func, std::optional<int64_t> bytes);
};
} // namespace

static void remarkOffload(func::FuncOp func, StringAttr mesh, int64_t peak,
                          int64_t offloadedPeak, int64_t bytes) {
  if (!func.getContext()->getRemarkEngine())
    return;
  auto opts = remark::RemarkOpts::name("offloaded").category("offload");
  if (bytes == 0)
    remark::missed(func.getLoc(), opts)
        << "mesh \"" << mesh.getValue() << "\" keeps its activations: it holds "
        << std::to_string(peak) << " bytes, and less is not asked for, or none "
        << "waits for long enough to leave and return";
  else
    remark::passed(func.getLoc(), opts)
        << "mesh \"" << mesh.getValue() << "\" holds "
        << std::to_string(offloadedPeak) << " bytes instead of "
        << std::to_string(peak) << ": " << std::to_string(bytes)
        << " bytes of activations wait on the host";
}

LogicalResult OffloadActivationsPass::offload(func::FuncOp func,
                                              std::optional<int64_t> bytes) {
  StringRef name = device.getValue().text;
  if (name.empty())
    return func.emitError()
           << "mpmd_offload_activations needs the times of a device; say with "
              "mpmd_schedule_device what the meshes are made of";
  llvm::Expected<meshwright::Device> found = meshwright::findDevice(name);
  if (!found)
    return func.emitError()
           << "mpmd_schedule_device: " << llvm::toString(found.takeError());
  llvm::Expected<meshwright::CustomCosts> customs =
      meshwright::parseCostList(customCosts.getValue().text);
  if (!customs)
    return func.emitError()
           << "mpmd_custom_costs: " << llvm::toString(customs.takeError());

  std::vector<MeshOffload> meshes;
  FailureOr<BlockTimes> times = failure();
  {
    OverlapTimes durations(getOperation(), *found, *customs);
    times = BlockTimes::find(func, durations, *found);
    if (failed(times))
      return failure();
    for (const auto &[mesh, queue] : times->getQueues())
      if (!isCpuMesh(mesh) && failed(meshes.emplace_back(mesh, queue, *times)
                                         .measure(func, durations, *found)))
        return failure();
  }
  std::vector<HostPlan> plans;
  const MeshOffload *worst = nullptr;
  int64_t smallest = 0;
  for (const MeshOffload &mesh : meshes) {
    plans.push_back(mesh.plan(bytes));
    int64_t peak = plans.back().peak;
    if (bytes && peak > *bytes && peak > smallest) {
      worst = &mesh;
      smallest = peak;
    }
  }
  if (worst)
    return func.emitError()
           << "mpmd_offload_activations: mesh " << worst->getMesh()
           << " cannot stay below " << *bytes
           << " bytes, even if all that comes back in time waits on its host; "
              "give at least "
           << smallest;
  for (auto [mesh, plan] : llvm::zip_equal(meshes, plans)) {
    int64_t moved = mesh.offload(plan);
    numOffloaded += mesh.getNumOffloaded();
    remarkOffload(func, mesh.getMesh(), mesh.getPeak(), plan.peak, moved);
  }
  return success();
}
