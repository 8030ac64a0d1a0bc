//===- PlanActivities.h - What the actions of a plan cost -------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_SIMULATOR_PIPELINE_PLANACTIVITIES_H
#define MESHWRIGHT_SIMULATOR_PIPELINE_PLANACTIVITIES_H

#include "meshwright/Simulator/PlanWorkload.h"
#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/DenseMap.h"
#include <string>
#include <utility>

namespace meshwright {

/// `0F`, or `0F+1B` of a pair that runs as one step.
std::string getStepName(llvm::ArrayRef<Action> step);

/// How long a step takes.
Ticks getStepTime(llvm::ArrayRef<Action> step, const PipelineModel &model);

/// Lists the activities of steps and of the transfers between them in a workload, those
/// that are alike once. Refers to both.
class PlanActivities {
public:
  PlanActivities(const PipelineModel &model, Workload &workload)
      : model(model), workload(workload) {}

  /// The meshes, with nothing to do yet.
  void addMeshes(size_t count);
  uint32_t getStep(llvm::ArrayRef<Action> step, uint32_t mesh);
  uint32_t getTransfer(uint32_t from, uint32_t to, const StageTransfer &cost,
                       int64_t stage);

private:
  const StageModel &getStage(const Action &action) const {
    return model.get(action.stage, action.microbatch);
  }

  const PipelineModel &model;
  Workload &workload;
  /// By the stages of their microbatches.
  using StepKey = std::pair<std::pair<int64_t, int64_t>, int>;
  llvm::DenseMap<std::pair<std::pair<StepKey, uint32_t>,
                           std::pair<const StageModel *, const StageModel *>>,
                 uint32_t>
      steps;
  llvm::DenseMap<std::pair<std::pair<uint32_t, uint32_t>, int64_t>, uint32_t>
      transfers;
};

} // namespace meshwright

#endif
