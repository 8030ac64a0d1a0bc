//===- ProgramStages.cpp - The stages that a program has ------------------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

#include "meshwright/Cost/TensorBytes.h"
#include "meshwright/Simulator/Comparison.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SmallVector.h"
#include <algorithm>
#include <limits>
#include <set>

using namespace meshwright;

namespace {
/// Sums over all microbatches of a stage.
struct StageSums {
  std::set<int32_t> microbatches;
  Ticks forward = 0, backward = 0, weight = 0;
  /// What collectives take of a forward, and of all that is backward.
  Ticks exchangingForward = 0, exchangingBackward = 0;
  int64_t bytesUntilInput = 0, bytesUntilWeight = 0;
  StageTransfer toNext, toPrevious;
  double forwardFlops = 0, backwardFlops = 0;
  uint32_t mesh = kNoItem;
};

class StageFinder {
public:
  explicit StageFinder(const Workload &workload)
      : workload(workload), readers(workload.values.size()) {}

  llvm::Expected<ProgramStages> find();

private:
  void findReaders();
  void addRun(uint32_t item);
  void addTransfer(uint32_t item);
  void addActivation(uint32_t value);
  bool isGradient(uint32_t value) const;
  void addGradients();
  void addArguments();
  bool readsStage(uint32_t item, int32_t stage) const;
  llvm::Error checkChain() const;
  llvm::Error checkTimes() const;
  void takeMeans();
  size_t findStageOfMesh(uint32_t mesh) const;

  const Workload &workload;
  std::vector<llvm::SmallVector<uint32_t, 2>> readers; ///< Of each value.
  std::vector<StageSums> sums;
  ProgramStages result;
};
} // namespace

void StageFinder::findReaders() {
  for (uint32_t item = 0; item < workload.items.size(); ++item)
    for (uint32_t value : workload.getOperands(item))
      readers[value].push_back(item);
}

void StageFinder::addRun(uint32_t item) {
  const Workload::Activity &activity = workload.getActivity(item);
  if (activity.stage < 0 || activity.kind == ItemKind::Optimizer)
    return;
  StageSums &found = sums[activity.stage];
  found.mesh = activity.mesh;
  switch (activity.kind) {
  case ItemKind::Forward:
    addCount(found.forward, activity.duration);
    addCount(found.exchangingForward, activity.exchanging);
    found.forwardFlops += activity.flops;
    found.microbatches.insert(workload.items[item].microbatch);
    break;
  case ItemKind::Backward:
  case ItemKind::Weight:
    addCount(activity.kind == ItemKind::Weight ? found.weight : found.backward,
             activity.duration);
    addCount(found.exchangingBackward, activity.exchanging);
    found.backwardFlops += activity.flops;
    break;
  default:
    return;
  }
  StageModel &model = result.model.stages[activity.stage];
  int64_t &temporaries = activity.kind == ItemKind::Forward
                             ? model.forwardTemporaryBytes
                             : model.backwardTemporaryBytes;
  temporaries = std::max(temporaries, activity.temporaryBytes);
}

void StageFinder::addTransfer(uint32_t item) {
  const Workload::Activity &activity = workload.getActivity(item);
  uint32_t producer =
      workload.values[workload.getOperands(item).front()].producer;
  if (activity.stage < 0 || producer == kNoItem)
    return;
  StageSums &found = sums[activity.stage];
  StageTransfer &sum = workload.getActivity(producer).kind == ItemKind::Forward
                           ? found.toNext
                           : found.toPrevious;
  addCount(sum.duration, activity.duration);
  addCount(sum.latency, activity.latency);
  addCount(sum.bytes, activity.bytes);
}

/// What the backward of the same microbatch reads on this mesh, or what came
/// from another mesh.
void StageFinder::addActivation(uint32_t index) {
  const Workload::Value &value = workload.values[index];
  const Workload::Activity &producer = workload.getActivity(value.producer);
  if (producer.stage < 0)
    return;
  if (producer.isTransfer()) {
    uint32_t operand = workload.getOperands(value.producer).front();
    uint32_t sender = workload.values[operand].producer;
    StageSums &found = sums[producer.stage];
    if (sender != kNoItem)
      addCount((workload.getActivity(sender).kind == ItemKind::Forward
                    ? found.toNext
                    : found.toPrevious)
                   .deviceBytes,
               value.bytes);
    return;
  }
  if (producer.kind != ItemKind::Forward)
    return;
  bool untilWeight = false, untilInput = false;
  for (uint32_t reader : readers[index]) {
    ItemKind kind = workload.getActivity(reader).kind;
    untilWeight |= kind == ItemKind::Weight;
    untilInput |= kind == ItemKind::Backward;
  }
  if (untilWeight)
    addCount(sums[producer.stage].bytesUntilWeight, value.bytes);
  else if (untilInput)
    addCount(sums[producer.stage].bytesUntilInput, value.bytes);
}

/// Whether it stays on its mesh beyond its microbatch.
bool StageFinder::isGradient(uint32_t index) const {
  const Workload::Value &value = workload.values[index];
  ItemKind kind = workload.getActivity(value.producer).kind;
  if (kind != ItemKind::Backward && kind != ItemKind::Weight)
    return false;
  return llvm::none_of(readers[index], [&](uint32_t reader) {
    const Workload::Activity &activity = workload.getActivity(reader);
    return activity.isTransfer() ||
           (activity.kind == ItemKind::Weight &&
            workload.items[reader].microbatch ==
                workload.items[value.producer].microbatch);
  });
}

void StageFinder::addGradients() {
  std::vector<int64_t> bytes(workload.items.size(), 0);
  for (uint32_t value = 0; value < workload.values.size(); ++value)
    if (uint32_t producer = workload.values[value].producer;
        producer != kNoItem && isGradient(value))
      addCount(bytes[producer], workload.values[value].bytes);
  for (uint32_t item = 0; item < bytes.size(); ++item)
    if (int32_t stage = workload.getActivity(item).stage; stage >= 0) {
      int64_t &most = result.model.stages[stage].gradientBytes;
      most = std::max(most, bytes[item]);
    }
}

size_t StageFinder::findStageOfMesh(uint32_t mesh) const {
  auto found = llvm::find_if(
      sums, [&](const StageSums &stage) { return stage.mesh == mesh; });
  return found - sums.begin();
}

/// Arguments belong to the stage that reads them first, and what updates them
/// to the first stage of its mesh.
void StageFinder::addArguments() {
  for (uint32_t index = 0; index < workload.values.size(); ++index) {
    const Workload::Value &value = workload.values[index];
    if (value.producer != kNoItem)
      continue;
    size_t stage = findStageOfMesh(value.mesh);
    if (!readers[index].empty())
      if (int32_t own = workload.getActivity(readers[index].front()).stage;
          own >= 0)
        stage = own;
    if (stage < sums.size())
      addCount(result.model.stages[stage].parameterBytes, value.bytes);
  }
  for (uint32_t item = 0; item < workload.items.size(); ++item) {
    const Workload::Activity &activity = workload.getActivity(item);
    if (activity.kind != ItemKind::Optimizer)
      continue;
    if (size_t stage = findStageOfMesh(activity.mesh); stage < sums.size())
      addCount(result.model.stages[stage].optimizer, activity.duration);
  }
}

/// Whether an item reads what a stage gives, maybe by way of transfers and of items that
/// are of no stage.
bool StageFinder::readsStage(uint32_t item, int32_t stage) const {
  llvm::SmallVector<uint32_t> items{item};
  std::set<uint32_t> seen;
  while (!items.empty())
    for (uint32_t value : workload.getOperands(items.pop_back_val())) {
      uint32_t producer = workload.values[value].producer;
      if (producer == kNoItem || !seen.insert(producer).second)
        continue;
      const Workload::Activity &activity = workload.getActivity(producer);
      if (activity.stage < 0 || activity.isTransfer())
        items.push_back(producer);
      else if (activity.stage == stage)
        return true;
    }
  return false;
}

/// Schedules are compared for stages of which each feeds the next.
llvm::Error StageFinder::checkChain() const {
  std::vector<bool> isFed(sums.size());
  isFed.front() = true;
  for (uint32_t item = 0; item < workload.items.size(); ++item) {
    const Workload::Activity &activity = workload.getActivity(item);
    if (activity.stage > 0 && activity.kind == ItemKind::Forward &&
        !isFed[activity.stage])
      isFed[activity.stage] = readsStage(item, activity.stage - 1);
  }
  for (auto [stage, found] : llvm::enumerate(sums))
    if (found.microbatches.empty() || !isFed[stage])
      return llvm::createStringError(
          "the stages are no chain: stage " + llvm::Twine(stage) +
          (found.microbatches.empty() ? " has no forward work"
                                      : " reads nothing of the stage before") +
          "; partition the program with each schedule, and simulate what comes "
          "of it");
  return llvm::Error::success();
}

/// The mean of what goes beyond what can be counted would be too small.
llvm::Error StageFinder::checkTimes() const {
  for (auto [stage, found] : llvm::enumerate(sums)) {
    Ticks all = found.forward;
    for (Ticks time : {found.backward, found.weight, found.toNext.duration,
                       found.toNext.latency, found.toPrevious.duration,
                       found.toPrevious.latency})
      addCount(all, time);
    if (all == std::numeric_limits<Ticks>::max())
      return llvm::createStringError(
          "stage " + llvm::Twine(stage) +
          " takes longer than can be counted, all microbatches together");
  }
  return llvm::Error::success();
}

/// A pair of stages that are alike: what the busier of the two resources of a device
/// has to do, and at least what each part takes.
static Ticks getOverlapped(const ActionCosts &times, Ticks exchangingForward,
                           Ticks exchangingBackward) {
  Ticks exchanging = exchangingForward + exchangingBackward;
  Ticks computing = times.forward + times.backward - exchanging;
  return std::max({exchanging, computing, times.forward, times.backward});
}

void StageFinder::takeMeans() {
  for (auto [found, model] : llvm::zip(sums, result.model.stages)) {
    auto count = static_cast<int64_t>(found.microbatches.size());
    auto mean = [&](const StageTransfer &sum) {
      return StageTransfer{sum.duration / count, sum.latency / count,
                           sum.bytes / count, sum.deviceBytes / count};
    };
    ActionCosts &times = model.times;
    times.forward = found.forward / count;
    times.backward = (found.backward + found.weight) / count;
    times.input = found.backward / count;
    times.weight = found.weight / count;
    if (found.weight == 0) {
      times.weight = times.backward / 2;
      times.input = times.backward - times.weight;
    }
    if (found.exchangingForward > 0 || found.exchangingBackward > 0)
      times.overlapped = getOverlapped(times, found.exchangingForward / count,
                                       found.exchangingBackward / count);
    model.bytesUntilInput = found.bytesUntilInput / count;
    model.bytesUntilWeight = found.bytesUntilWeight / count;
    model.toNext = mean(found.toNext);
    model.toPrevious = mean(found.toPrevious);
    model.forwardFlops = found.forwardFlops / static_cast<double>(count);
    model.backwardFlops = found.backwardFlops / static_cast<double>(count);
    result.splitsBackward |= found.weight > 0;
  }
}

llvm::Expected<ProgramStages> StageFinder::find() {
  int32_t numStages = 0;
  bool hasBackward = false;
  for (const Workload::Activity &activity : workload.activities) {
    numStages = std::max(numStages, activity.stage + 1);
    hasBackward |= activity.kind == ItemKind::Backward;
  }
  if (numStages == 0 || !hasBackward)
    return llvm::createStringError(
        "has no pipeline to reschedule: expected forward and backward "
        "fragments with the names of their computations");
  sums.resize(numStages);
  result.model.stages.resize(numStages);
  result.numStages = numStages;
  findReaders();
  for (uint32_t item = 0; item < workload.items.size(); ++item)
    if (workload.getActivity(item).isTransfer())
      addTransfer(item);
    else
      addRun(item);
  if (llvm::Error error = checkChain())
    return error;
  for (uint32_t value = 0; value < workload.values.size(); ++value)
    if (workload.values[value].producer != kNoItem)
      addActivation(value);
  addGradients();
  addArguments();
  if (llvm::Error error = checkTimes())
    return error;
  takeMeans();
  std::set<uint32_t> seen;
  for (const StageSums &stage : sums)
    if (seen.insert(stage.mesh).second)
      result.model.meshes.push_back(workload.meshes[stage.mesh]);
  result.numMeshes = result.model.meshes.size();
  result.model.peakFlops = workload.peakFlops;
  return std::move(result);
}

llvm::Expected<ProgramStages> meshwright::findStages(const Workload &workload) {
  return StageFinder(workload).find();
}
