//===- MeshOffload.cpp - What one mesh lets wait on its host --------------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

#include "meshwright/Export/Offload/MeshOffload.h"
#include "meshwright/Cost/TensorBytes.h"
#include "meshwright/Dialect/Mpmd/BufferAttributes.h"
#include "meshwright/Dialect/Mpmd/Fragments.h"
#include "meshwright/Dialect/Mpmd/Functions.h"
#include "meshwright/Dialect/Mpmd/MemoryKinds.h"
#include "meshwright/Export/Offload/BufferUses.h"
#include "llvm/ADT/STLExtras.h"

using namespace mlir;
using namespace mlir::mpmd;
using meshwright::DeviceLoad;
using meshwright::HostPlan;
using meshwright::HostTrip;
using meshwright::WaitingGroup;

unsigned MeshOffload::getStepAt(double time) const {
  auto isLater = [](double time, const DeviceLoad::Step &step) {
    return time < step.latest;
  };
  auto found = llvm::upper_bound(load.steps, time, isLater);
  return found == load.steps.begin() ? 0 : found - load.steps.begin() - 1;
}

/// The step in which a transfer has sent what a step makes, also if that is delayed, and
/// those after it follow at once.
unsigned MeshOffload::getLastSendStep(Operation *transfer, unsigned producer,
                                      const BlockTimes &times) const {
  double seconds = times.get(transfer).stop - load.steps[producer].stop;
  unsigned step = producer;
  while (step + 1 < load.steps.size() && seconds > 0) {
    ++step;
    seconds -= load.steps[step].stop - load.steps[step].start;
  }
  return step;
}

/// Adds what the devices hold of a value, from the step that makes it to the last one
/// that reads it.
void MeshOffload::addValue(Value value, func::FuncOp func,
                           const BlockTimes &times, int64_t bytes) {
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
      if (step != steps.end()) {
        end = std::max(end, step->second + (isGivenUp(use) ? 0 : 1));
        continue;
      }
      end = std::max(end, getStepAt(times.get(user).stop) + 1);
      if (steps.contains(value.getDefiningOp()))
        end = std::max(end, getLastSendStep(user, first, times) + 1);
    }
  }
  meshwright::addCount(changes[first], bytes);
  meshwright::addCount(changes[end], -bytes);
}

bool mpmd::hasForward(FragmentOp fragment) {
  return llvm::any_of(fragment.getOrigin(), [](Attribute origin) {
    return cast<UserOriginAttr>(origin).getTransposeCount() == 0;
  });
}
bool mpmd::hasBackward(FragmentOp fragment) {
  return getMaxTransposeCount(fragment).value_or(0) > 0;
}

/// What a forward makes and a backward reads may wait on the host meanwhile.
void MeshOffload::addToGroup(OpResult value, const BlockTimes &times,
                             int64_t bytes) {
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

LogicalResult MeshOffload::measure(func::FuncOp func, const BlockTimes &times,
                                   const DenseMap<Operation *, double> &latest,
                                   OverlapTimes &durations,
                                   const meshwright::Device &device) {
  load.latency = device.latency;
  load.secondsPerByte =
      1 / meshwright::getSpeed(meshwright::Route::Host, device);
  for (FragmentOp fragment : queue) {
    auto [start, stop] = times.get(fragment);
    FailureOr<double> temporaries = durations.getTemporaryBytes(fragment);
    if (failed(temporaries))
      return failure();
    load.steps.push_back({start, stop, meshwright::roundCount(*temporaries),
                          std::max(start, latest.lookup(fragment))});
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
    addValue(value, func, times, bytes);
    if (auto made = dyn_cast<OpResult>(value))
      addToGroup(made, times, bytes);
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

SmallVector<TransferOp> MeshOffload::send(const HostTrip &trip) {
  const WaitingGroup &group = groups[trip.group];
  // What others wait for goes first.
  Operation *after = queue[group.last];
  while (isa<TransferOp>(after->getNextNode()))
    after = after->getNextNode();
  OpBuilder builder(after->getContext());
  builder.setInsertionPointAfter(after);
  SmallVector<TransferOp> sent;
  for (OpResult value :
       ArrayRef(values[trip.group]).slice(trip.firstValue, trip.numValues)) {
    auto type = cast<MeshTensorType>(value.getType());
    auto hostType = MeshTensorType::get(
        type.getContext(), type.getMeshName(), type.getRankedTensorType(),
        type.getSharding(), builder.getStringAttr(kMemoryKindPinnedHost));
    auto there = TransferOp::create(builder, value.getLoc(), hostType, value);
    if (unsigned numBeside = trip.freedStep - group.last - 1)
      there->setAttr(kBesideAttr, builder.getI64IntegerAttr(numBeside));
    if (trip.isAwaited)
      there->setAttr(kAwaitedAttr, builder.getUnitAttr());
    sent.push_back(there);
  }
  return sent;
}

void MeshOffload::fetch(const HostTrip &trip, ArrayRef<TransferOp> sent) {
  OpBuilder builder(queue[trip.fetchStep]);
  for (TransferOp there : sent) {
    Value value = there.getTensor();
    auto back =
        TransferOp::create(builder, value.getLoc(), value.getType(), there);
    back->setAttr(kDelayedAttr, builder.getUnitAttr());
    value.replaceUsesWithIf(back, [&](OpOperand &use) {
      auto step = steps.find(use.getOwner());
      return step != steps.end() && step->second >= groups[trip.group].next;
    });
  }
}

HostPlan MeshOffload::plan(std::optional<int64_t> bound) const {
  if (bound)
    if (std::optional<HostPlan> found = chooseTrips(load, groups, *bound))
      return *found;
  return findSmallestPeak(load, groups);
}

void MeshOffload::addDelays(const HostPlan &plan,
                            DenseMap<Operation *, double> &earliest) const {
  for (auto [fragment, step, start] :
       llvm::zip_equal(queue, load.steps, plan.starts))
    if (start > step.start)
      earliest[fragment] = start;
}

int64_t MeshOffload::offload(const HostPlan &plan) {
  int64_t bytes = 0;
  std::vector<std::pair<const HostTrip *, SmallVector<TransferOp>>> sent;
  for (const HostTrip &trip : plan.trips) {
    for (int64_t each : ArrayRef(groups[trip.group].bytes)
                            .slice(trip.firstValue, trip.numValues))
      meshwright::addCount(bytes, each);
    numOffloaded += trip.numValues;
    sent.emplace_back(&trip, send(trip));
  }
  // Those of one step come back in the order in which they have to.
  llvm::stable_sort(sent, [](const auto &a, const auto &b) {
    return a.first->fetchTime < b.first->fetchTime;
  });
  for (const auto &[trip, transfers] : sent)
    fetch(*trip, transfers);
  return bytes;
}
