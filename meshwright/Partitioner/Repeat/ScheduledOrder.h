//===- ScheduledOrder.h - The order that the scheduler would give -*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// Problem. A pipeline of many stages has a steady state only after as many microbatches as
// there are stages, so that its order cannot be continued from that of a few
// (RepeatOrder.h). What the items of a microbatch are, and what they read, can.
//
// Example. Three stages, of which two microbatches were partitioned; the scheduler is given
// microbatch after microbatch, and so are three of them described to its sort:
//
//     F0 F1 F2 B0 B1 B2      ->      F0 F1 F2  B0 F3  B1 F4 ..  B3 B4
//
// Solution. Items are put into the order that they had before the scheduler, and sorted as
// it does (Order/BlockSort.h), by what they read and what the schedule requires:
//
// - what is before the microbatches, in the order that it has for the few;
// - those of a microbatch, of which each unit reads what the one before gives, so that no
//   other order is possible, followed by the transfers of its results;
// - what is after them, in the order that it has for the few, where that matters.
//
// What belongs to no stage is then moved to what reads it first, as in the export phase
// (`mpmd-delay-inferred-fragments`).
//
// Invariant. The few, ordered so, have the order that they were given. For the many, what is
// moved goes to what corresponds to its place among the few, and no two items after the
// microbatches that may have been in another order come into the same sweep.
//
// Cost. Linear in the items and what they read, but for sorting the units of a mesh.
//
// Name in the literature: a stable topological order.
//
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_PARTITIONER_REPEAT_SCHEDULEDORDER_H
#define MESHWRIGHT_PARTITIONER_REPEAT_SCHEDULEDORDER_H

#include "meshwright/Optimize/Scheduler/ScheduleOption.h"
#include "meshwright/Partitioner/Repeat/ProgramLabels.h"
#include "llvm/ADT/StringMap.h"
#include <optional>
#include <vector>

namespace meshwright {

/// The order of the items of many microbatches by a schedule; none where that of the few is
/// not the schedule's, or not understood. `stages` are those of the names of computations.
std::optional<std::vector<RepeatedEntry>>
orderBySchedule(const ExportedProgram &few, const ProgramLabels &labels,
                const RepeatCounts &counts,
                const mlir::mpmd::ScheduleOption &schedule,
                const llvm::StringMap<int64_t> &stages);

} // namespace meshwright

#endif
