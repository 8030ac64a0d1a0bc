//===- RunningSums.h - Sums that go from unit to unit -----------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// Problem. Gradients of all microbatches are added up in their units, each to what the
// one before gives. So the order of the sum is that of the microbatches, and a schedule
// that takes a short one first would wait for a long one.
//
// Example. Backward units of a stage, before and after an order 1, 0, 2:
//
//     s0 = B0(zero)                    s1 = B1(zero)
//     s1 = B1(s0)          becomes     s0 = B0(s1)
//     s2 = B2(s1)                      s2 = B2(s0)
//
// Solution. A unit adds to an operand if its body does nothing else with it, and only
// returns the sum. Units of one stage and kind are a chain where each
// reads the sum of the one before, and nothing else does.
//
// Invariant. The result of a chain is the same sum, but for the order of its terms.
// Where units of different microbatches depend on each other by anything else, they
// keep their order.
//
// Cost. Linear in the units, their operands and the edges of the graph.
//
// Name in the literature: reassociation of a reduction.
//
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_OPTIMIZE_SCHEDULER_RUNNINGSUMS_H
#define MESHWRIGHT_OPTIMIZE_SCHEDULER_RUNNINGSUMS_H

#include "meshwright/Optimize/Scheduler/SchedulingUnits.h"

namespace mlir::mpmd {

class RunningSums {
public:
  /// Those of units of `graph`, whose meshes these are.
  RunningSums(ArrayRef<MeshUnits> meshes, const BlockGraph &graph);

  /// Whether nothing but these sums leads from a microbatch to another one, so that
  /// they may run in any order.
  bool areMicrobatchesFree() const { return areFree; }

  /// Adds up in the order of the places of units. Operands change, ops stay.
  void reorder(function_ref<int64_t(const meshwright::WorkItem &)> getPlace);

private:
  /// A unit that adds: what it adds to, and where it returns the sum.
  struct Link {
    FragmentOp fragment;
    meshwright::WorkItem item;
    unsigned operand, result;
  };
  using Chain = SmallVector<Link>;

  void addChains(const MeshUnits &mesh, function_ref<bool(Value)> isOfNoUnit);
  bool findTies(ArrayRef<MeshUnits> meshes, const BlockGraph &graph) const;

  SmallVector<Chain> chains;
  bool areFree;
};

} // namespace mlir::mpmd

#endif
