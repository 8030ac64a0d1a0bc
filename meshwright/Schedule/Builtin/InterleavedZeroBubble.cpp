//===- InterleavedZeroBubble.cpp - Zero bubble over several chunks --------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// Interleaved 1F1B with the weight gradients apart; on one chunk, ZeroBubbleH1.
//
//===----------------------------------------------------------------------===//

#include "meshwright/Schedule/Builtin/BuiltinSchedules.h"
#include "meshwright/Schedule/Patterns/Alternate.h"

using namespace meshwright;

static llvm::Expected<Plan>
makeInterleavedZeroBubblePlan(const PlanShape &shape) {
  constexpr llvm::StringLiteral kName = "InterleavedZeroBubble";
  llvm::Expected<int64_t> group = findGroupSize(kName, shape);
  if (!group)
    return group.takeError();
  return alternateOnAll(shape, *group, [&](int64_t mesh) {
    int64_t lead = (shape.chunks - 1) * *group + shape.meshes - mesh;
    return Alternation{lead, /*lag=*/mesh};
  });
}

const Schedule meshwright::kInterleavedZeroBubble =
    Schedule{"InterleavedZeroBubble", "INTERLEAVED_ZERO_BUBBLE",
             "interleaved 1F1B with weight gradients in its bubbles",
             "Qi et al., Zero Bubble Pipeline Parallelism, arXiv:2401.10241",
             makeInterleavedZeroBubblePlan}
        .with(&Schedule::splitsBackward, true)
        .withChunks(/*usual=*/2, /*fewest=*/1, /*most=*/kAnyChunks);
