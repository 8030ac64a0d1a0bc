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

static llvm::Expected<Plan> makePlan(const PlanShape &shape) {
  PipelineProblem problem;
  problem.place(shape, Placement::Looped);
  problem.splits.assign(problem.getNumStages(), true);
  problem.mostLive.assign(shape.meshes, getUsualRoom(shape));
  llvm::Expected<SearchedPlan> made = searchPlan(problem);
  if (!made)
    return made.takeError();
  return std::move(made->plan);
}

const Schedule meshwright::kAuto = {
    "auto",
    "AUTO",
    "searched: the shortest that was found for the times of the stages",
    "Meshwright",
    makePlan,
    /*getConstraints=*/nullptr,
    /*findProblem=*/nullptr,
    /*splitsBackward=*/true,
    /*usualChunks=*/1,
    /*fewestChunks=*/1,
    /*mostChunks=*/kAnyChunks,
    Placement::Looped,
    PipelineNeed::Position,
    /*needsSumsApart=*/false,
    /*isSearched=*/true};
