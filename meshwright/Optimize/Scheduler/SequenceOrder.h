//===- SequenceOrder.h - Chunks of a sequence in their order ----*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_OPTIMIZE_SCHEDULER_SEQUENCEORDER_H
#define MESHWRIGHT_OPTIMIZE_SCHEDULER_SEQUENCEORDER_H

#include "meshwright/Optimize/Scheduler/SchedulingUnits.h"

namespace mlir::mpmd {

/// Fails at the first unit that reads what a chunk of its microbatch gives that comes
/// later: later in the sequence for a forward, earlier for a backward. A schedule with
/// `sequenceChunks` chunks of each microbatch could not run it.
LogicalResult verifyCausal(ArrayRef<MeshUnits> meshes, int64_t sequenceChunks,
                           StringRef schedule);

} // namespace mlir::mpmd

#endif
