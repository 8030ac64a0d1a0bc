//===- OnlineOrder.h - A topological order that edges join ------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// Problem. Edges are added to the graph of a block, and after each it is asked whether
// a path leads from one op to another. A search of the whole graph for each question
// would be quadratic.
//
// Example. Labels have gaps; the edge d→b moves d, with what precedes it after b's
// label (here c), directly before b:
//
//     a:10   b:20   c:30   d:40     c→d
//     a:10   c:14   d:17   b:20     after addEdge(d, b)
//
// Invariant. Each op has a higher label than all that must precede it. So `precedes(x,
// y)` is false at once where the label of x is higher, and otherwise only ops with
// labels between the two are searched.
//
// Cost. A question: the ops between the two labels that lead to the second. An edge:
// the same, if it contradicts the order; else constant. Labels are renumbered when a
// gap is used up, which is logarithmic per edge, amortized.
//
// Names in the literature: incremental (online) topological order; list labelling, or
// order maintenance. Bender, Cole, Demaine, Farach-Colton, Zito: Two Simplified Algorithms for
// Maintaining Order in a List (the labels). Alpern, Hoover, Rosen, Sweeney,
// Zadeck: Incremental Evaluation of Computational Circuits (the order).
//
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_OPTIMIZE_SCHEDULER_ORDER_ONLINEORDER_H
#define MESHWRIGHT_OPTIMIZE_SCHEDULER_ORDER_ONLINEORDER_H

#include "meshwright/Order/BlockSort.h"

namespace mlir::mpmd {

/// The ops by position, in an order that keeps to the data flow. Where no
/// constraint is on a cycle with others and the data flow, it keeps to the constraints
/// as well.
std::vector<unsigned> findLikelyOrder(const BlockGraph &graph,
                                      const OrderConstraints &constraints);

class OnlineOrder {
public:
  using Label = uint64_t;
  using Edge = OrderConstraints::Edge;

  /// `order` must keep to the data flow.
  OnlineOrder(const BlockGraph &graph, ArrayRef<unsigned> order);

  Label getLabel(unsigned node) const { return labels[node]; }
  ArrayRef<Edge> getEdges() const { return edges; }
  /// `before` must be before `after`.
  void addEdge(unsigned before, unsigned after);

  /// Whether a path leads from one to the other. Where there is one, it is
  /// found in about as many steps as the path has.
  bool precedes(unsigned before, unsigned after);

  /// Finds what precedes a node, latest first, down to a label. `visit` is
  /// called with each, and with the bound, and returns the bound from there on.
  using Visitor = llvm::function_ref<Label(unsigned node, Label bound)>;
  void findAncestors(unsigned node, Label bound, Visitor visit);
  /// Whether the last search came across this node.
  bool isFound(unsigned node) const { return found[node] == search; }
  /// Moves the node of the last search directly before `target`, which must not
  /// precede it, and with it what was found. Returns what was moved, in order.
  ArrayRef<unsigned> moveBefore(unsigned target);

private:
  void relabel();
  void link(unsigned before, unsigned after) {
    next[before] = after;
    previous[after] = before;
  }

  const BlockGraph &graph;
  std::vector<Edge> edges;
  std::vector<SmallVector<unsigned, 2>> predecessors; ///< By edges.
  /// A ring through a node of its own, which is after the last op.
  std::vector<unsigned> next, previous;
  std::vector<Label> labels;
  unsigned search = 0;
  std::vector<unsigned> found; ///< The last search that found a node.
  SmallVector<unsigned> ancestors, moved;
  unsigned descendant = 0; ///< The node of the last search.
};

} // namespace mlir::mpmd

#endif
