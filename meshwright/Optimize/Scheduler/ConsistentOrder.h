//===- ConsistentOrder.h - Demands that data flow allows --------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_OPTIMIZE_SCHEDULER_CONSISTENTORDER_H
#define MESHWRIGHT_OPTIMIZE_SCHEDULER_CONSISTENTORDER_H

#include "meshwright/Optimize/Scheduler/UnitDemands.h"

namespace mlir::mpmd {

/// What is demanded, but is the other way round by data flow or by demands that
/// were met before.
struct DemandConflicts {
  uint64_t count = 0;
  /// The first such pair; `first` is to come before `second`, but needs it.
  unsigned first = kNone, second = kNone;
};

/// What comes of demands that contradict each other or the data flow, if each
/// is met in turn that is still open: those of the first unit of the program,
/// then those of the second one.
struct ConsistentOrder {
  /// These and the data flow imply all demands that are met. For each prefix of
  /// the block, so do those among its ops.
  std::vector<OrderDemands::Edge> edges;
  /// For units of one chain: where they stand among each other.
  std::vector<unsigned> placeInChain;
  /// For each unit, those that it was to precede for another reason than its
  /// rank, but needs.
  std::vector<SmallVector<unsigned, 0>> needed;
  DemandConflicts conflicts;
};

/// Cost: where demands are not on cycles with the data flow, linear in ops and
/// demands, but for logarithms; otherwise, for each unit on a cycle, also the
/// ops between it and what it is to precede.
ConsistentOrder findConsistentOrder(const BlockGraph &graph,
                                    const UnitDemands &units,
                                    const OrderDemands &demands);

} // namespace mlir::mpmd

#endif
