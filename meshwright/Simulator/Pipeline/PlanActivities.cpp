//===- PlanActivities.cpp - What the actions of a plan cost ---------------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

#include "meshwright/Simulator/Pipeline/PlanActivities.h"
#include "meshwright/Cost/TensorBytes.h"
#include <algorithm>

using namespace meshwright;

std::string meshwright::getStepName(llvm::ArrayRef<Action> step) {
  std::string name;
  for (const Action &action : step)
    name += (name.empty() ? "" : "+") + std::to_string(action.stage) +
            getLetter(action.kind);
  return name;
}

Ticks meshwright::getStepTime(llvm::ArrayRef<Action> step,
                              const PipelineModel &model) {
  auto getTimes = [&](int64_t stage,
                      int64_t microbatch) -> const ActionCosts & {
    return model.get(stage, microbatch).times;
  };
  Ticks time = 0;
  for (const Action &action : step)
    addCount(time, getTimes(action.stage, action.microbatch).get(action.kind));
  if (step.size() == 1)
    return time;
  int64_t stage = step.front().stage;
  return PipelineCosts::getPairTime(getTimes(stage, step.front().microbatch),
                                    getTimes(stage, step.back().microbatch),
                                    time);
}

void PlanActivities::addMeshes(size_t count) {
  workload.meshes = model.meshes;
  for (size_t mesh = workload.meshes.size(); mesh < count; ++mesh)
    workload.meshes.push_back({"m" + std::to_string(mesh)});
  workload.queues.resize(workload.meshes.size());
  workload.peakFlops = model.peakFlops;
  workload.linksContend = model.linksContend;
}

/// The activity of an action, or of a pair that runs as one step.
uint32_t PlanActivities::getStep(llvm::ArrayRef<Action> step, uint32_t mesh) {
  const Action &first = step.front();
  int kind = static_cast<int>(first.kind) * 16;
  int64_t other = -1;
  if (step.size() == 2) {
    kind += 1 + static_cast<int>(step[1].kind);
    other = step[1].stage;
  }
  auto [entry, isNew] =
      steps.try_emplace({{StepKey{{first.stage, other}, kind}, mesh},
                         {&getStage(first), &getStage(step.back())}},
                        workload.activities.size());
  if (!isNew)
    return entry->second;
  Workload::Activity &activity = workload.activities.emplace_back();
  activity.kind =
      step.size() == 2 ? ItemKind::Overlapped : getItemKind(first.kind);
  activity.mesh = activity.source = mesh;
  activity.stage = static_cast<int32_t>(first.stage);
  activity.name = getStepName(step);
  activity.duration = getStepTime(step, model);
  for (const Action &action : step) {
    const StageModel &stage = getStage(action);
    bool goesForward = isForward(action.kind);
    activity.temporaryBytes = std::max(
        activity.temporaryBytes, goesForward ? stage.forwardTemporaryBytes
                                             : stage.backwardTemporaryBytes);
    // The halves of a backward do about as much each.
    bool isHalf =
        action.kind == ActionKind::Input || action.kind == ActionKind::Weight;
    activity.flops += goesForward ? stage.forwardFlops
                      : isHalf    ? stage.backwardFlops / 2
                                  : stage.backwardFlops;
  }
  return entry->second;
}

uint32_t PlanActivities::getTransfer(uint32_t from, uint32_t to,
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
