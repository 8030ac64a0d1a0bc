//===- LoopedBFS.cpp - All microbatches through one chunk after another ---===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// Breadth-first: a mesh runs all microbatches through its first stage before it
// begins with its second, and turns everything round for the backward work.
//
//===----------------------------------------------------------------------===//

#include "meshwright/Schedule/Builtin/BuiltinSchedules.h"

using namespace meshwright;

static llvm::Expected<Plan> makeLoopedBFSPlan(const PlanShape &shape) {
  Plan plan;
  for (int64_t mesh = 0; mesh < shape.meshes; ++mesh) {
    ActionList &list = plan.meshes.emplace_back();
    for (int64_t chunk = 0; chunk < shape.chunks; ++chunk)
      for (int64_t i = 0; i < shape.microbatches; ++i)
        list.push_back({chunk * shape.meshes + mesh, ActionKind::Forward, i});
    for (int64_t chunk = shape.chunks; chunk-- > 0;)
      for (int64_t i = shape.microbatches; i-- > 0;)
        list.push_back({chunk * shape.meshes + mesh, ActionKind::Backward, i});
  }
  return plan;
}

const Schedule meshwright::kLoopedBFS =
    Schedule{
        "LoopedBFS", "LOOPED_BFS",
        "all microbatches through one stage of a mesh after another",
        "Lamy-Poirier, Breadth-First Pipeline Parallelism, arXiv:2211.05953",
        makeLoopedBFSPlan}
        .withChunks(/*usual=*/2, /*fewest=*/1, /*most=*/kAnyChunks)
        .with(&Schedule::needsSumsApart, true)
        .with(&Schedule::backwardRunsLastFirst, true);
