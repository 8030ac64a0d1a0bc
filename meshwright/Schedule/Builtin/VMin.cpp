//===- VMin.cpp - A third of the memory of 1F1B ---------------------------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// All four passes of a microbatch move as fast as they can, so a mesh keeps the
// least that a folded pipeline without idle steps can: about a third of what
// 1F1B keeps on its first mesh. Stages of unequal length show at once as
// bubble.
//
//===----------------------------------------------------------------------===//

#include "meshwright/Schedule/Builtin/BuiltinSchedules.h"
#include "meshwright/Schedule/Patterns/FoldedPattern.h"

using namespace meshwright;

static llvm::Expected<Plan> makeVMinPlan(const PlanShape &shape) {
  return repeatFoldedPattern(shape, {1, 1, 1, 1});
}

const Schedule meshwright::kVMin =
    Schedule{"VMin", "V_MIN",
             "folded like a V, for a third of the memory of 1F1B",
             "Qi et al., Pipeline Parallelism with Controllable Memory, "
             "arXiv:2405.15362",
             makeVMinPlan}
        .with(&Schedule::splitsBackward, true)
        .withChunks(/*usual=*/2, /*fewest=*/2, /*most=*/2)
        .with(&Schedule::placement, Placement::Folded);
