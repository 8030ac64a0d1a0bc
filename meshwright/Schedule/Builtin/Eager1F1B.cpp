//===- Eager1F1B.cpp - 1F1B that hides transfers --------------------------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// Twice as many forwards as in 1F1B fill the pipeline. Then a value has the
// time of one forward and one backward to travel before a mesh waits for it,
// which costs the memory of the additional microbatches.
//
//===----------------------------------------------------------------------===//

#include "meshwright/Schedule/Builtin/BuiltinSchedules.h"
#include "meshwright/Schedule/Patterns/Alternate.h"

using namespace meshwright;

static llvm::Expected<Plan> makeEager1F1BPlan(const PlanShape &shape) {
  return alternateOnAll(shape, shape.microbatches, [&](int64_t mesh) {
    return Alternation{/*lead=*/2 * (shape.meshes - 1 - mesh) + 1, {}};
  });
}

const Schedule meshwright::kEager1F1B = {
    "Eager1F1B", "EAGER_1F1B",
    "1F1B with twice the forwards in flight, to hide transfers",
    "Zhuang et al., On Optimizing the Communication of Model Parallelism, "
    "arXiv:2211.05322",
    makeEager1F1BPlan};
