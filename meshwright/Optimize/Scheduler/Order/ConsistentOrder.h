//===- ConsistentOrder.h - Constraints that data flow allows ----*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// Problem. A schedule constrains each pair of units (fragments) of a mesh; data flow
// may contradict it. Pairs are looked at in program order, and a constraint is met
// unless those before it, with the data flow, imply the opposite. There are
// quadratically many pairs, so the result is a few edges that imply all others.
//
// Example. The schedule wants b before a before c on one mesh; c reads a:
//
//     ranks    b(1) ──▶ a(2) ──▶ c(3)      edges: b→a, a→c, and not b→c
//     data              a ─────▶ c         (implied: a transitive reduction)
//
// If instead a read c, the constraint a→c would be a conflict, which is counted.
//
// Invariant. When a unit has its turn, the units of its chain that had theirs are in a
// line by rank, but for those of equal rank, and a path leads from each to the next.
//
// Cost. Linear in ops and constraints, but for logarithms, where no constraint is on a
// cycle with the data flow; otherwise, for each unit on a cycle, also the ops between
// it and what it is to precede. A test of all pairs would be quadratic in the units.
//
// Names in the literature: happens-before, transitive reduction, incremental
// topological order (OnlineOrder.h), Fenwick tree (the latest unit of a range of
// ranks). Proof: docs/developing/scheduler-order.md.
//
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_OPTIMIZE_SCHEDULER_ORDER_CONSISTENTORDER_H
#define MESHWRIGHT_OPTIMIZE_SCHEDULER_ORDER_CONSISTENTORDER_H

#include "meshwright/Optimize/Scheduler/UnitConstraints.h"

namespace mlir::mpmd {

/// What comes of constraints that contradict each other or the data flow, if each
/// is met in turn that is still open: those of the first unit of the program,
/// then those of the second one.
struct ConsistentOrder {
  /// These and the data flow imply all constraints that are met. For each prefix of
  /// the block, so do those among its ops.
  std::vector<OrderConstraints::Edge> edges;
  /// For units of one chain: where they are among each other.
  std::vector<unsigned> placeInChain;
  /// For each unit, those that it was to precede for another reason than its
  /// rank, but needs.
  std::vector<SmallVector<unsigned, 0>> needed;
  /// Pairs of which the first is required to come before the second, but comes after
  /// it by data flow or by constraints that were met before.
  uint64_t numConflicts = 0;
};

ConsistentOrder findConsistentOrder(const BlockGraph &graph,
                                    const UnitConstraints &units,
                                    const OrderConstraints &constraints);

/// Calls `visit` with each pair in conflict. Cost: for each unit that comes after one
/// of higher rank, linear in its chain.
void forEachConflict(const UnitConstraints &units, const ConsistentOrder &order,
                     llvm::function_ref<void(unsigned, unsigned)> visit);

} // namespace mlir::mpmd

#endif
