//===- PlanWorkload.cpp - A plan as a workload ----------------------------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

#include "meshwright/Simulator/PlanWorkload.h"
#include "meshwright/Cost/TensorBytes.h"
#include "meshwright/Schedule/ActionInputs.h"
#include "meshwright/Simulator/Pipeline/PlanActivities.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SmallVector.h"

using namespace meshwright;

PipelineModel PipelineModel::make(const PipelineCosts &costs) {
  PipelineModel model;
  model.linksContend = false;
  auto makeStages = [&](const auto &given) {
    std::vector<StageModel> stages;
    auto add = [&](const ActionCosts &times) {
      StageModel &stage = stages.emplace_back();
      stage.times = times;
      stage.bytesUntilWeight = 1;
      stage.toNext.latency = stage.toPrevious.latency = costs.transfer;
    };
    for (const ActionCosts &times : given.stages)
      add(times);
    add(given.usual);
    return stages;
  };
  model.stages = makeStages(costs);
  for (const BucketCosts &bucket : costs.buckets)
    model.buckets.push_back(makeStages(bucket));
  model.bucketOf = costs.bucketOf;
  return model;
}

namespace {
class Builder {
public:
  Builder(const Plan &plan, const PipelineModel &model)
      : plan(plan), model(model), inputs(plan), activities(model, workload) {}

  Workload build();

private:
  /// What the workload has of an action.
  struct Made {
    uint32_t item = kNoItem;
    /// The value that it gives to other stages, if any reads one, and how many
    /// actions of other meshes read it.
    uint32_t sent = kNoItem;
    uint32_t readersElsewhere = 0;
  };
  Made &getMade(const ActionId &id) { return made[id.mesh][id.index]; }
  const StageModel &getStage(const Action &action) const {
    return model.get(action.stage, action.microbatch);
  }
  void addSteps();
  void addOptimizers();
  const Action &getAction(const ActionId &id) const {
    return plan.meshes[id.mesh][id.index];
  }
  void countReaders();
  void linkAction(const ActionId &id);
  void readOwn(const ActionId &input, const ActionId &id);
  void readOther(const ActionId &input, const ActionId &id);

  void send(const ActionId &maker, uint32_t consumer,
            const StageTransfer &cost);
  uint32_t makeValue(uint32_t producer, int64_t bytes);
  uint32_t makeSent(const ActionId &maker, int64_t bytes);
  void read(uint32_t item, uint32_t value) { reads.push_back({item, value}); }
  void placeReads();

  const Plan &plan;
  const PipelineModel &model;
  ActionInputs inputs;
  Workload workload;
  PlanActivities activities;
  /// By mesh and place, as the plan has them.
  std::vector<std::vector<Made>> made;
  /// Pairs of producer and reader, in no order.
  std::vector<std::pair<uint32_t, uint32_t>> reads;
};
} // namespace

ItemKind meshwright::getItemKind(ActionKind kind) {
  switch (kind) {
  case ActionKind::Forward:
  case ActionKind::Embedding:
  case ActionKind::Head:
    return ItemKind::Forward;
  case ActionKind::Backward:
  case ActionKind::EmbeddingBackward:
  case ActionKind::HeadBackward:
  case ActionKind::Input:
    return ItemKind::Backward;
  case ActionKind::Weight:
    return ItemKind::Weight;
  }
  llvm_unreachable("unknown kind of action");
}

void Builder::addSteps() {
  size_t numActions = plan.countActions();
  workload.items.reserve(2 * numActions);
  workload.values.reserve(3 * numActions);
  reads.reserve(3 * numActions);
  for (auto [mesh, list] : llvm::enumerate(plan.meshes)) {
    std::vector<Made> &ofMesh = made.emplace_back(list.size());
    for (size_t i = 0; i < list.size();) {
      llvm::ArrayRef<Action> step =
          llvm::ArrayRef(list).slice(i, list[i].joinsNext ? 2 : 1);
      uint32_t item = workload.addItem(activities.getStep(step, mesh),
                                       step.front().microbatch, {});
      for (size_t end = i + step.size(); i < end; ++i)
        ofMesh[i].item = item;
    }
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
      const StageModel &found = model.get(stage);
      if (found.parameterBytes > 0)
        workload.addValue(mesh, kNoItem, found.parameterBytes, true);
      auto first = llvm::find_if(list, [&](const Action &action) {
        return action.stage == stage && !isForward(action.kind);
      });
      if (first == list.end())
        continue;
      uint32_t gradients = kNoItem;
      if (found.gradientBytes > 0)
        gradients = makeValue(made[mesh][first - list.begin()].item,
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

/// What an action gives to other stages is one value, however many read it.
uint32_t Builder::makeSent(const ActionId &maker, int64_t bytes) {
  Made &found = getMade(maker);
  if (found.sent == kNoItem)
    found.sent = makeValue(found.item, bytes);
  return found.sent;
}

/// What an action makes for another stage.
void Builder::send(const ActionId &maker, uint32_t consumer,
                   const StageTransfer &cost) {
  uint32_t to = workload.getActivity(consumer).mesh;
  if (maker.mesh == to) {
    read(consumer, makeSent(maker, cost.deviceBytes));
    return;
  }
  const Action &action = getAction(maker);
  uint32_t item = workload.addItem(
      activities.getTransfer(maker.mesh, to, cost, action.stage),
      action.microbatch, {});
  read(item, makeSent(maker, cost.deviceBytes));
  read(consumer, workload.addValue(to, item, cost.deviceBytes));
}

void Builder::countReaders() {
  for (auto [mesh, list] : llvm::enumerate(plan.meshes))
    for (const Action &action : list)
      for (const ActionId *input : inputs.get(action))
        getMade(*input).readersElsewhere += input->mesh != mesh;
}

/// What an action of a stage leaves to a later one of the same stage.
void Builder::readOwn(const ActionId &input, const ActionId &id) {
  const Action &action = getAction(id);
  uint32_t from = getMade(input).item;
  uint32_t run = getMade(id).item;
  const StageModel &stage = getStage(action);
  if (action.kind == ActionKind::Weight) {
    read(run, makeValue(from, 0));
    const ActionId *forward =
        inputs.find({action.stage, ActionKind::Forward, action.microbatch});
    if (forward && stage.bytesUntilWeight > 0)
      read(run, makeValue(getMade(*forward).item, stage.bytesUntilWeight));
    return;
  }
  int64_t bytes = stage.bytesUntilInput;
  if (action.kind != ActionKind::Input)
    addCount(bytes, stage.bytesUntilWeight);
  read(run, makeValue(from, bytes));
}

/// What a stage gets of another one. Of what goes to all parts of a vocabulary, or
/// from each to each, the model has all transfers together.
void Builder::readOther(const ActionId &input, const ActionId &id) {
  const Action &maker = getAction(input);
  const StageModel &stage = getStage(maker);
  StageTransfer cost = isForward(maker.kind) ? stage.toNext : stage.toPrevious;
  bool isOfParts = !isInChain(maker.kind) || !isInChain(getAction(id).kind);
  if (int64_t readers = getMade(input).readersElsewhere;
      isOfParts && readers > 1) {
    cost.duration /= readers;
    cost.bytes /= readers;
    cost.deviceBytes /= readers;
  }
  send(input, getMade(id).item, cost);
}

void Builder::linkAction(const ActionId &id) {
  const Action &action = getAction(id);
  for (const ActionId *input : inputs.get(action)) {
    if (getAction(*input).stage == action.stage)
      readOwn(*input, id);
    else
      readOther(*input, id);
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
  activities.addMeshes(plan.meshes.size());
  addSteps();
  addOptimizers();
  countReaders();
  for (uint32_t mesh = 0; mesh < plan.meshes.size(); ++mesh)
    for (uint32_t index = 0; index < plan.meshes[mesh].size(); ++index)
      linkAction({mesh, index});
  placeReads();
  return std::move(workload);
}

Workload meshwright::makeWorkload(const Plan &plan,
                                  const PipelineModel &model) {
  return Builder(plan, model).build();
}
