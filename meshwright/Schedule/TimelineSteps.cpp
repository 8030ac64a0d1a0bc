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

namespace {
/// `F3`, `5F3` with the stage, `F3.1` for a chunk of the sequence.
struct Labels {
  bool withStage;
  int64_t sequenceChunks;

  std::string get(const Action &action) const {
    std::string label = withStage ? std::to_string(action.stage) : "";
    label += getLetter(action.kind);
    label += std::to_string(action.microbatch / sequenceChunks);
    if (sequenceChunks > 1)
      label += "." + std::to_string(action.microbatch % sequenceChunks);
    return label;
  }
};
} // namespace

static std::vector<TimelineStep>
getStepsOfMesh(const ActionList &list, const std::vector<Interval> &intervals,
               const Labels &labels) {
  std::vector<TimelineStep> steps;
  for (size_t i = 0; i < list.size(); ++i) {
    TimelineStep step{labels.get(list[i]), list[i], intervals[i]};
    if (list[i].joinsNext)
      step.label += "+" + labels.get(list[++i]);
    steps.push_back(std::move(step));
  }
  return steps;
}

std::vector<std::vector<TimelineStep>>
meshwright::getSteps(const Plan &plan, const Timeline &timeline) {
  Labels labels{!hasOneStagePerMesh(plan), plan.sequenceChunks};
  std::vector<std::vector<TimelineStep>> meshes;
  for (auto [list, intervals] : llvm::zip(plan.meshes, timeline.meshes))
    meshes.push_back(getStepsOfMesh(list, intervals, labels));
  return meshes;
}

std::vector<std::string> meshwright::listTowers(const Plan &plan) {
  std::vector<std::string> names(plan.meshes.size());
  for (const Tower &tower : plan.graph.towers)
    for (int64_t mesh : tower.meshes)
      names[mesh] += (names[mesh].empty() ? "" : "+") + tower.name;
  return names;
}
