//===- PlanWorkload.cpp - A plan as a workload ----------------------------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

#include "meshwright/Simulator/PlanWorkload.h"
#include "meshwright/Cost/TensorBytes.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SmallVector.h"

using namespace meshwright;

PipelineModel PipelineModel::make(const PipelineCosts &costs) {
  PipelineModel model;
  model.linksContend = false;
  auto add = [&](const ActionCosts &times) {
    StageModel &stage = model.stages.emplace_back();
    stage.times = times;
    stage.bytesUntilWeight = 1;
    stage.toNext.latency = stage.toPrevious.latency = costs.transfer;
  };
  for (const ActionCosts &times : costs.stages)
    add(times);
  add(costs.usual);
  return model;
}

namespace {
class Builder {
public:
  Builder(const Plan &plan, const PipelineModel &model)
      : plan(plan), model(model) {
    if (!plan.graph.isChain())
      links.emplace(plan.graph, plan.graph.countStages());
  }

  Workload build();

private:
  using Key = std::pair<std::pair<int64_t, int64_t>, int>;
  static Key getKey(int64_t stage, int64_t microbatch, ActionKind kind) {
    return {{stage, microbatch}, static_cast<int>(kind)};
  }
  const StageModel &getStage(int64_t stage) const { return model.get(stage); }
  using Stages = llvm::SmallVector<int64_t, 2>;
  Stages listBefore(int64_t stage) const {
    return links ? links->before[stage] : Stages{stage - 1};
  }
  Stages listAfter(int64_t stage) const {
    return links ? links->after[stage] : Stages{stage + 1};
  }
  void addMeshes();
  void addSteps();
  void addOptimizers();
  void linkAction(const Action &action);

  uint32_t findRun(int64_t stage, int64_t microbatch, ActionKind kind) const {
    auto it = runs.find(getKey(stage, microbatch, kind));
    return it == runs.end() ? kNoItem : it->second;
  }
  uint32_t findBackward(int64_t stage, int64_t microbatch) const {
    uint32_t whole = findRun(stage, microbatch, ActionKind::Backward);
    return whole != kNoItem ? whole
                            : findRun(stage, microbatch, ActionKind::Input);
  }
  uint32_t getActivity(llvm::ArrayRef<Action> step, uint32_t mesh);
  uint32_t getTransfer(uint32_t from, uint32_t to, const StageTransfer &cost,
                       int64_t stage);
  void send(uint32_t producer, uint32_t consumer, const StageTransfer &cost,
            int64_t stage, int64_t microbatch);
  uint32_t makeValue(uint32_t producer, int64_t bytes);
  void read(uint32_t item, uint32_t value) { reads.push_back({item, value}); }
  void placeReads();

  const Plan &plan;
  const PipelineModel &model;
  std::optional<StageLinks> links; ///< Of a graph of towers.
  Workload workload;
  llvm::DenseMap<Key, uint32_t> runs;
  llvm::DenseMap<std::pair<Key, uint32_t>, uint32_t> activities;
  llvm::DenseMap<std::pair<std::pair<uint32_t, uint32_t>, int64_t>, uint32_t>
      transfers;
  /// Pairs of producer and reader, in no order.
  std::vector<std::pair<uint32_t, uint32_t>> reads;
};
} // namespace

ItemKind meshwright::getItemKind(ActionKind kind) {
  switch (kind) {
  case ActionKind::Forward:
    return ItemKind::Forward;
  case ActionKind::Backward:
  case ActionKind::Input:
    return ItemKind::Backward;
  case ActionKind::Weight:
    return ItemKind::Weight;
  }
  llvm_unreachable("unknown kind of action");
}

void Builder::addMeshes() {
  workload.meshes = model.meshes;
  for (size_t mesh = workload.meshes.size(); mesh < plan.meshes.size(); ++mesh)
    workload.meshes.push_back({"m" + std::to_string(mesh)});
  workload.queues.resize(workload.meshes.size());
  workload.peakFlops = model.peakFlops;
  workload.linksContend = model.linksContend;
}

/// The activity of an action, or of a pair that runs as one step.
uint32_t Builder::getActivity(llvm::ArrayRef<Action> step, uint32_t mesh) {
  const Action &first = step.front();
  int kind = static_cast<int>(first.kind) * 8;
  int64_t other = -1;
  if (step.size() == 2) {
    kind += 1 + static_cast<int>(step[1].kind);
    other = step[1].stage;
  }
  auto [entry, isNew] = activities.try_emplace(
      {Key{{first.stage, other}, kind}, mesh}, workload.activities.size());
  if (!isNew)
    return entry->second;
  Workload::Activity &activity = workload.activities.emplace_back();
  activity.kind =
      step.size() == 2 ? ItemKind::Overlapped : getItemKind(first.kind);
  activity.mesh = activity.source = mesh;
  activity.stage = static_cast<int32_t>(first.stage);
  for (const Action &action : step) {
    const StageModel &stage = getStage(action.stage);
    activity.name += (activity.name.empty() ? "" : "+") +
                     std::to_string(action.stage) + getLetter(action.kind);
    addCount(activity.duration, stage.times.get(action.kind));
    bool isForward = action.kind == ActionKind::Forward;
    activity.temporaryBytes = std::max(
        activity.temporaryBytes,
        isForward ? stage.forwardTemporaryBytes : stage.backwardTemporaryBytes);
    // The halves of a backward do about as much each.
    activity.flops += isForward ? stage.forwardFlops
                      : action.kind == ActionKind::Backward
                          ? stage.backwardFlops
                          : stage.backwardFlops / 2;
  }
  const ActionCosts &times = getStage(first.stage).times;
  if (step.size() == 2 && times.overlapped)
    activity.duration = *times.overlapped;
  return entry->second;
}

void Builder::addSteps() {
  runs.reserve(plan.countActions());
  for (auto [mesh, list] : llvm::enumerate(plan.meshes))
    for (size_t i = 0; i < list.size();) {
      llvm::ArrayRef<Action> step =
          llvm::ArrayRef(list).slice(i, list[i].joinsNext ? 2 : 1);
      uint32_t item = workload.addItem(getActivity(step, mesh),
                                       step.front().microbatch, {});
      for (const Action &action : step)
        runs.try_emplace(getKey(action.stage, action.microbatch, action.kind),
                         item);
      i += step.size();
    }
}

/// After all gradients of its mesh, which order alone says.
void Builder::addOptimizers() {
  for (auto [mesh, list] : llvm::enumerate(plan.meshes)) {
    llvm::SmallVector<int64_t> stages;
    for (const Action &action : list)
      if (!llvm::is_contained(stages, action.stage))
        stages.push_back(action.stage);
    llvm::sort(stages);
    for (int64_t stage : stages) {
      const StageModel &found = getStage(stage);
      if (found.parameterBytes > 0)
        workload.addValue(mesh, kNoItem, found.parameterBytes, true);
      auto first = llvm::find_if(list, [&](const Action &action) {
        return action.stage == stage && action.kind != ActionKind::Forward;
      });
      if (first == list.end())
        continue;
      uint32_t gradients = kNoItem;
      if (found.gradientBytes > 0)
        gradients = makeValue(findRun(stage, first->microbatch, first->kind),
                              found.gradientBytes);
      if (found.optimizer == 0) {
        if (gradients != kNoItem)
          workload.values[gradients].isKept = true;
        continue;
      }
      Workload::Activity &activity = workload.activities.emplace_back();
      activity.kind = ItemKind::Optimizer;
      activity.mesh = activity.source = mesh;
      activity.stage = static_cast<int32_t>(stage);
      activity.name = std::to_string(stage) + "optimizer";
      activity.duration = found.optimizer;
      uint32_t item = workload.addItem(workload.activities.size() - 1, -1, {});
      if (gradients != kNoItem)
        read(item, gradients);
    }
  }
}

uint32_t Builder::makeValue(uint32_t producer, int64_t bytes) {
  return workload.addValue(workload.getActivity(producer).mesh, producer,
                           bytes);
}

uint32_t Builder::getTransfer(uint32_t from, uint32_t to,
                              const StageTransfer &cost, int64_t stage) {
  // Both directions between two stages have activities of their own.
  auto [entry, isNew] =
      transfers.try_emplace({{from, to}, stage}, workload.activities.size());
  if (!isNew)
    return entry->second;
  Workload::Activity &activity = workload.activities.emplace_back();
  activity.kind = ItemKind::Transfer;
  activity.source = from;
  activity.mesh = to;
  activity.stage = static_cast<int32_t>(stage);
  activity.name =
      workload.meshes[from].name + " -> " + workload.meshes[to].name;
  activity.duration = cost.duration;
  activity.latency = cost.latency;
  activity.bytes = cost.bytes;
  return entry->second;
}

/// What stage `stage` makes for a neighbour.
void Builder::send(uint32_t producer, uint32_t consumer,
                   const StageTransfer &cost, int64_t stage,
                   int64_t microbatch) {
  uint32_t from = workload.getActivity(producer).mesh;
  uint32_t to = workload.getActivity(consumer).mesh;
  if (from == to) {
    read(consumer, makeValue(producer, cost.deviceBytes));
    return;
  }
  uint32_t item =
      workload.addItem(getTransfer(from, to, cost, stage), microbatch, {});
  read(item, makeValue(producer, cost.deviceBytes));
  read(consumer, workload.addValue(to, item, cost.deviceBytes));
}

void Builder::linkAction(const Action &action) {
  int64_t s = action.stage, m = action.microbatch;
  uint32_t run = findRun(s, m, action.kind);
  const StageModel &stage = getStage(s);
  uint32_t forward = findRun(s, m, ActionKind::Forward);
  switch (action.kind) {
  case ActionKind::Forward:
    for (int64_t before : listBefore(s))
      if (uint32_t input = findRun(before, m, ActionKind::Forward);
          input != kNoItem)
        send(input, run, getStage(before).toNext, before, m);
    return;
  case ActionKind::Weight:
    if (uint32_t input = findRun(s, m, ActionKind::Input); input != kNoItem)
      read(run, makeValue(input, 0));
    if (forward != kNoItem && stage.bytesUntilWeight > 0)
      read(run, makeValue(forward, stage.bytesUntilWeight));
    return;
  case ActionKind::Backward:
  case ActionKind::Input:
    if (forward != kNoItem) {
      int64_t bytes = stage.bytesUntilInput;
      if (action.kind == ActionKind::Backward)
        addCount(bytes, stage.bytesUntilWeight);
      read(run, makeValue(forward, bytes));
    }
    for (int64_t after : listAfter(s))
      if (uint32_t gradient = findBackward(after, m); gradient != kNoItem)
        send(gradient, run, getStage(after).toPrevious, after, m);
    return;
  }
}

/// Brings the reads to the items that do them.
void Builder::placeReads() {
  size_t numItems = workload.items.size();
  workload.firstOperand.assign(numItems + 1, 0);
  for (auto [item, value] : reads)
    ++workload.firstOperand[item + 1];
  for (size_t i = 0; i < numItems; ++i)
    workload.firstOperand[i + 1] += workload.firstOperand[i];
  workload.operands.resize(reads.size());
  std::vector<uint32_t> next(workload.firstOperand.begin(),
                             workload.firstOperand.end() - 1);
  for (auto [item, value] : reads)
    workload.operands[next[item]++] = value;
}

Workload Builder::build() {
  addMeshes();
  addSteps();
  addOptimizers();
  for (const ActionList &list : plan.meshes)
    for (const Action &action : list)
      linkAction(action);
  placeReads();
  return std::move(workload);
}

Workload meshwright::makeWorkload(const Plan &plan,
                                  const PipelineModel &model) {
  return Builder(plan, model).build();
}
