//===- Auto.cpp - A schedule for the stages as they are -------------------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// As a schedule like any other, of stages that all take the same time; a caller
// that knows their times calls `searchPlan`.
//
//===----------------------------------------------------------------------===//

#include "meshwright/Schedule/Builtin/BuiltinSchedules.h"
#include "meshwright/Schedule/Search/SearchedPlan.h"

using namespace meshwright;

static llvm::Expected<Plan> makeAutoPlan(const PlanShape &shape) {
  PipelineProblem problem;
  if (shape.graph.isChain()) {
    problem.place(shape, Placement::Looped);
    problem.mostLive.assign(shape.meshes, getUsualLimit(shape));
  } else {
    if (llvm::Error error = problem.place(shape.graph))
      return error;
    problem.microbatches = shape.microbatches;
    problem.mostLive = getUsualLimits(shape.graph);
  }
  problem.splits.assign(problem.getNumStages(), true);
  llvm::Expected<SearchedPlan> made = searchPlan(problem);
  if (!made)
    return made.takeError();
  return std::move(made->plan);
}

const Schedule meshwright::kAuto =
    Schedule{
        "auto", "AUTO",
        "searched: the shortest that was found for the times of the stages",
        "Meshwright", makeAutoPlan}
        .with(&Schedule::splitsBackward, true)
        .withChunks(/*usual=*/1, /*fewest=*/1, /*most=*/kAnyChunks)
        .with(&Schedule::isSearched, true)
        .with(&Schedule::takesTowers, true);
