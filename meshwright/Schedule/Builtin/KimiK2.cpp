//===- KimiK2.cpp - Interleaved 1F1B with more warm-up --------------------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// Interleaved1F1B with one more forward before the first backward of each mesh. A
// forward and the backward before it then belong to different microbatches on
// every mesh, also on the last one, so that the collectives of experts in the one
// can run beside the other. It keeps one more forward.
//
//===----------------------------------------------------------------------===//

#include "meshwright/Schedule/Builtin/Alternate.h"
#include "meshwright/Schedule/Builtin/BuiltinSchedules.h"

using namespace meshwright;

static llvm::Expected<Plan> makePlan(const PlanShape &shape) {
  return interleave("KimiK2", shape, {/*overlaps=*/false, /*moreWarmUp=*/1});
}

const Schedule meshwright::kKimiK2 = {
    "KimiK2",
    "KIMI_K2",
    "interleaved 1F1B with one more warm-up microbatch",
    "Kimi Team, Kimi K2: Open Agentic Intelligence, arXiv:2507.20534, section "
    "2.4",
    makePlan,
    /*getConstraints=*/nullptr,
    /*findProblem=*/nullptr,
    /*splitsBackward=*/false,
    /*usualChunks=*/2,
    /*fewestChunks=*/2,
    /*mostChunks=*/kAnyChunks};
