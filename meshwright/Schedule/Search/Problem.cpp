//===- Problem.cpp - What a schedule is made for --------------------------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

#include "meshwright/Schedule/Search/Problem.h"
#include "llvm/ADT/STLExtras.h"

using namespace meshwright;

int64_t PipelineProblem::countActions() const {
  int64_t perMicrobatch = 0;
  for (bool split : splits)
    perMicrobatch += split ? 3 : 2;
  return perMicrobatch * microbatches;
}

void PipelineProblem::place(const PlanShape &shape, Placement kind) {
  microbatches = shape.microbatches;
  placement.clear();
  for (int64_t stage = 0; stage < shape.meshes * shape.chunks; ++stage)
    placement.push_back(placeStage(kind, shape.meshes, stage));
}

llvm::Error PipelineProblem::place(const StageGraph &given) {
  graph = given;
  placement.clear();
  for (const Tower &tower : graph.towers) {
    const Schedule &schedule = *findSchedule(tower.schedule);
    auto places = schedule.placeStages(
        static_cast<int64_t>(tower.meshes.size()), tower.count);
    if (!places)
      return llvm::createStringError("tower " + tower.name + ": " +
                                     llvm::toString(places.takeError()));
    for (int64_t place : *places)
      placement.push_back(tower.meshes[place]);
  }
  return llvm::Error::success();
}

bool meshwright::fitsMemory(const PipelineProblem &problem, const Plan &plan) {
  return llvm::all_of(llvm::zip_equal(plan.meshes, problem.mostLive),
                      [](const auto &pair) {
                        auto [list, most] = pair;
                        return countPeakLive(list).untilWeight <= most;
                      });
}
