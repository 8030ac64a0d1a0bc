//===- Interleaved1F1B.cpp - 1F1B over several chunks of a mesh -----------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// Each mesh has several stages, in a loop over the meshes, so the pipeline
// fills and drains in steps of a chunk instead of everything a mesh has: the
// bubble is smaller by the number of chunks, for more transfers.
//
// KimiK2 has one more forward before the first backward of each mesh. A forward
// and the backward before it then belong to different microbatches on every
// mesh, also on the last one, so that the collectives of experts in the one can
// run beside the other. It keeps one more forward.
//
//===----------------------------------------------------------------------===//

#include "meshwright/Schedule/Builtin/BuiltinSchedules.h"
#include "meshwright/Schedule/Patterns/Alternate.h"

using namespace meshwright;

static llvm::Expected<Plan> makeInterleaved(const PlanShape &shape) {
  return interleave("Interleaved1F1B", shape);
}

const Schedule meshwright::kInterleaved1F1B =
    Schedule{"Interleaved1F1B", "INTERLEAVED_1F1B",
             "1F1B over several stages on each mesh",
             "Narayanan et al., Efficient Large-Scale Language Model Training "
             "on GPU Clusters Using Megatron-LM, arXiv:2104.04473, section 2.2",
             makeInterleaved}
        .withChunks(/*usual=*/2, /*fewest=*/2, /*most=*/kAnyChunks);

static llvm::Expected<Plan> makeWarmedUp(const PlanShape &shape) {
  return interleave("KimiK2", shape, {/*overlaps=*/false, /*moreWarmUp=*/1});
}

const Schedule meshwright::kKimiK2 =
    Schedule{"KimiK2", "KIMI_K2",
             "interleaved 1F1B with one more warm-up microbatch",
             "Kimi Team, Kimi K2: Open Agentic Intelligence, arXiv:2507.20534, "
             "section 2.4",
             makeWarmedUp}
        .withChunks(/*usual=*/2, /*fewest=*/2, /*most=*/kAnyChunks);
