//===- SequenceChunks.cpp - 1F1B over chunks of sequences -----------------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// A microbatch goes through the pipeline in K chunks of its sequence, first to last
// forward, and last to first back: a chunk reads the keys and values of those before
// it, and gives them their gradients.
//
//   mesh 0 | F0.0 F0.1 F1.0 .    B0.1 F1.1 B0.0 ...
//   mesh 1 | .    F0.0 F0.1 B0.1 F1.0 B0.0 F1.1 ...
//
// Beside its cache, mesh m of N keeps N - m + K - 1 chunks, where 1F1B keeps N - m
// microbatches, and the pipeline fills and drains in steps of a chunk.
//
// SlimPipe does so with several stages on each mesh. With at least as many chunks as
// meshes, a microbatch goes through all stages before the next one begins, so that
// mesh m of N with v stages keeps v K + 2 (N - 1 - m) of the v K N pieces that a
// microbatch is cut into: little more than its share of one microbatch.
//
//===----------------------------------------------------------------------===//

#include "meshwright/Schedule/Builtin/BuiltinSchedules.h"
#include "meshwright/Schedule/Patterns/Alternate.h"

using namespace meshwright;

static llvm::Expected<Plan> makeFlat(const PlanShape &shape) {
  int64_t parts = shape.sequenceChunks;
  return alternateOnAll(shape, parts, [&](int64_t mesh) {
    return Alternation{shape.meshes - mesh + parts - 1, /*lag=*/std::nullopt};
  });
}

const Schedule meshwright::kSeq1F1B =
    Schedule{"Seq1F1B", "SEQ_1F1B", "1F1B over chunks of each sequence",
             "Sun et al., Seq1F1B: Efficient Sequence-Level Pipeline "
             "Parallelism for Large Language Model Training, arXiv:2406.03488",
             makeFlat}
        .with(&Schedule::takesSequenceChunks, true);

static llvm::Expected<Plan> makeSequenceInterleaved(const PlanShape &shape) {
  return interleave("SlimPipe", shape);
}

const Schedule meshwright::kSlimPipe =
    Schedule{"SlimPipe", "SLIM_PIPE",
             "the same over several stages on each mesh",
             "Li et al., SlimPipe: Memory-Thrifty and Efficient Pipeline "
             "Parallelism for Long-Context LLM Training, arXiv:2504.14519",
             makeSequenceInterleaved}
        .withChunks(/*usual=*/2, /*fewest=*/2, /*most=*/kAnyChunks)
        .with(&Schedule::takesSequenceChunks, true);
