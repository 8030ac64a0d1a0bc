//===- CombinedInterleaved1F1B.cpp - The same over several chunks ---------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// Interleaved1F1B, whose forwards and backwards are of different stages wherever
// they alternate, with the two in one overlapped step.
//
//===----------------------------------------------------------------------===//

#include "meshwright/Schedule/Builtin/BuiltinSchedules.h"
#include "meshwright/Schedule/Patterns/Alternate.h"

using namespace meshwright;

static llvm::Expected<Plan>
makeCombinedInterleaved1F1BPlan(const PlanShape &shape) {
  return interleave("CombinedInterleaved1F1B", shape, {/*overlaps=*/true});
}

const Schedule meshwright::kCombinedInterleaved1F1B =
    Schedule{"CombinedInterleaved1F1B", "COMBINED_INTERLEAVED_1F1B",
             "the same over several stages on each mesh",
             "Meshwright, after the combined 1F1B of Megatron-LM",
             makeCombinedInterleaved1F1BPlan}
        .with(&Schedule::splitsBackward, true)
        .withChunks(/*usual=*/2, /*fewest=*/2, /*most=*/kAnyChunks);
