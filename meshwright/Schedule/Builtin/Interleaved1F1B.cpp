//===- Interleaved1F1B.cpp - 1F1B over several chunks of a mesh -----------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// Each mesh has several stages, in a loop over the meshes, so the pipeline
// fills and drains in steps of a chunk instead of everything a mesh has: the
// bubble is smaller by the number of chunks, for more transfers.
//
//===----------------------------------------------------------------------===//

#include "meshwright/Schedule/Builtin/Alternate.h"
#include "meshwright/Schedule/Builtin/BuiltinSchedules.h"

using namespace meshwright;

static llvm::Expected<Plan> makePlan(const PlanShape &shape) {
  return interleave("Interleaved1F1B", shape);
}

const Schedule meshwright::kInterleaved1F1B = {
    "Interleaved1F1B",
    "INTERLEAVED_1F1B",
    "1F1B over several stages on each mesh",
    "Narayanan et al., Efficient Large-Scale Language Model Training on GPU "
    "Clusters Using Megatron-LM, arXiv:2104.04473, section 2.2",
    makePlan,
    /*getConstraints=*/nullptr,
    /*findProblem=*/nullptr,
    /*splitsBackward=*/false,
    /*usualChunks=*/2,
    /*fewestChunks=*/2,
    /*mostChunks=*/kAnyChunks};
