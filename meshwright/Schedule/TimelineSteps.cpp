//===- TimelineSteps.cpp --------------------------------------------------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

#include "meshwright/Schedule/TimelineSteps.h"
#include "llvm/ADT/STLExtras.h"

using namespace meshwright;

/// With one stage on each mesh, the mesh says which.
static bool hasOneStagePerMesh(const Plan &plan) {
  return llvm::all_of(plan.meshes, [](const ActionList &list) {
    return llvm::all_of(list, [&](const Action &action) {
      return action.stage == list.front().stage;
    });
  });
}

static std::string getLabel(const Action &action, bool withStage) {
  if (withStage)
    return toString(action);
  return getLetter(action.kind) + std::to_string(action.microbatch);
}

static std::vector<TimelineStep>
getStepsOfMesh(const ActionList &list, const std::vector<Interval> &intervals,
               bool withStage) {
  std::vector<TimelineStep> steps;
  for (size_t i = 0; i < list.size(); ++i) {
    TimelineStep step{getLabel(list[i], withStage), list[i], intervals[i]};
    if (list[i].joinsNext)
      step.label += "+" + getLabel(list[++i], withStage);
    steps.push_back(std::move(step));
  }
  return steps;
}

std::vector<std::vector<TimelineStep>>
meshwright::getSteps(const Plan &plan, const Timeline &timeline) {
  bool withStage = !hasOneStagePerMesh(plan);
  std::vector<std::vector<TimelineStep>> meshes;
  for (auto [list, intervals] : llvm::zip(plan.meshes, timeline.meshes))
    meshes.push_back(getStepsOfMesh(list, intervals, withStage));
  return meshes;
}
