//===- None.cpp - Program order -------------------------------------------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// The plan is that of a program that was written microbatch by microbatch.
//
//===----------------------------------------------------------------------===//

#include "meshwright/Schedule/Builtin/BuiltinSchedules.h"

using namespace meshwright;

static llvm::Expected<Plan> makeNonePlan(const PlanShape &shape) {
  Plan plan;
  for (int64_t mesh = 0; mesh < shape.meshes; ++mesh) {
    ActionList &list = plan.meshes.emplace_back();
    for (int64_t i = 0; i < shape.microbatches; ++i) {
      for (int64_t chunk = 0; chunk < shape.chunks; ++chunk)
        list.push_back({chunk * shape.meshes + mesh, ActionKind::Forward, i});
      for (int64_t chunk = shape.chunks; chunk-- > 0;)
        list.push_back({chunk * shape.meshes + mesh, ActionKind::Backward, i});
    }
  }
  return plan;
}

static Constraints getNoneConstraints(const MeshPosition &) { return {}; }

const Schedule meshwright::kNone =
    Schedule{"none", "NONE", "leaves the order of the program", "",
             makeNonePlan}
        .with(&Schedule::getConstraints, getNoneConstraints)
        .withChunks(/*usual=*/1, /*fewest=*/1, /*most=*/kAnyChunks)
        .with(&Schedule::need, PipelineNeed::Nothing);
