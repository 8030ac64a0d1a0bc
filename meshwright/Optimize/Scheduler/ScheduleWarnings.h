//===- ScheduleWarnings.h - What a schedule makes of a program --*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_OPTIMIZE_SCHEDULER_SCHEDULEWARNINGS_H
#define MESHWRIGHT_OPTIMIZE_SCHEDULER_SCHEDULEWARNINGS_H

#include "meshwright/Optimize/Scheduler/Order/ConsistentOrder.h"
#include "meshwright/Optimize/Scheduler/ScheduleOption.h"

namespace mlir::mpmd {

/// `backward of stage 4 of microbatch 7`; without a stage, the names of its
/// computations.
std::string describeUnit(FragmentOp fragment);

/// First and last call counters of each pass over the microbatches.
using MicrobatchPasses = SmallVector<std::pair<int64_t, int64_t>>;

/// Reads `0-7,8-15`.
FailureOr<MicrobatchPasses> parseMicrobatchPasses(StringRef text);

/// Warns at the first pair of which data flow has the other order, says how
/// many there are, and what in the program may be the cause; separately of pairs of
/// one microbatch and of different ones. Where passes are given, one may wait for
/// another; a counter of none is a pass by itself.
void warnOfConflicts(const ConsistentOrder &order, const UnitConstraints &units,
                     const ScheduleOption &option,
                     const MicrobatchPasses &passes);

/// Warns of a relation that orders weight gradients, if there are some, but none is
/// split off: it also runs without.
void warnOfMissingSplit(func::FuncOp func, const ScheduleOption &option,
                        ArrayRef<OrderedMesh> meshes);

} // namespace mlir::mpmd

#endif
