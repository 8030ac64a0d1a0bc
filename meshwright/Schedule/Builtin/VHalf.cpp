//===- VHalf.cpp - Half of the memory of 1F1B -----------------------------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// The passes up the meshes take two units of time from mesh to mesh. So there
// is some slack for stages of unequal length, and a mesh keeps about half of
// what 1F1B keeps on its first mesh.
//
//===----------------------------------------------------------------------===//

#include "meshwright/Schedule/Builtin/BuiltinSchedules.h"
#include "meshwright/Schedule/Patterns/FoldedPattern.h"

using namespace meshwright;

static llvm::Expected<Plan> makeVHalfPlan(const PlanShape &shape) {
  return repeatFoldedPattern(shape, {1, 2, 1, 2});
}

const Schedule meshwright::kVHalf =
    Schedule{"VHalf", "V_HALF",
             "folded like a V, for half of the memory of 1F1B",
             "Qi et al., Pipeline Parallelism with Controllable Memory, "
             "arXiv:2405.15362",
             makeVHalfPlan}
        .with(&Schedule::splitsBackward, true)
        .withChunks(/*usual=*/2, /*fewest=*/2, /*most=*/2)
        .with(&Schedule::placement, Placement::Folded);
