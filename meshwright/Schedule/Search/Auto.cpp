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
  if (shape.graph.isChain()) {
    problem.place(shape, Placement::Looped);
    problem.mostLive.assign(shape.meshes, getUsualRoom(shape));
  } else {
    if (llvm::Error error = problem.place(shape.graph))
      return error;
    problem.microbatches = shape.microbatches;
    problem.mostLive = getUsualRooms(shape.graph);
  }
  problem.splits.assign(problem.getNumStages(), true);
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
    /*isSearched=*/true,
    /*backwardRunsLastFirst=*/false,
    /*takesSequenceChunks=*/false,
    /*takesTowers=*/true};
