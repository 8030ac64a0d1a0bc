//===- Combined1F1B.cpp - 1F1B whose forwards and backwards overlap -------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// Once the pipeline is full, each mesh runs a forward and a backward as one step, so
// that the communication of the one hides in the work of the other:
//
//   mesh 0 | F0 F1 F2 .  .  F3+B0 F4+B1
//   mesh 1 | .  F0 .  F1+B0 F2+B1 F3+B2
//
// A value leaves a step when all of it has ended. So that no mesh waits for the
// neighbours of both sides in turn, two more forwards than on the next mesh come first,
// as in Eager1F1B.
//
//===----------------------------------------------------------------------===//

#include "meshwright/Schedule/Builtin/BuiltinSchedules.h"
#include "meshwright/Schedule/Patterns/Alternate.h"

using namespace meshwright;

static llvm::Expected<Plan> makeCombined1F1BPlan(const PlanShape &shape) {
  return alternateOnAll(shape, shape.microbatches, [&](int64_t mesh) {
    return Alternation{/*lead=*/2 * (shape.meshes - 1 - mesh) + 1,
                       /*lag=*/std::nullopt, /*overlaps=*/true};
  });
}

const Schedule meshwright::kCombined1F1B =
    Schedule{"Combined1F1B", "COMBINED_1F1B",
             "1F1B with each forward and backward in one overlapped step",
             "Meshwright, after the combined 1F1B of Megatron-LM",
             makeCombined1F1BPlan}
        .with(&Schedule::splitsBackward, true);
