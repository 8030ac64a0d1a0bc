//===- BlockSort.h - Stable topological order of a block --------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_ORDER_BLOCKSORT_H
#define MESHWRIGHT_ORDER_BLOCKSORT_H

#include "meshwright/Order/BlockGraph.h"
#include <optional>
#include <vector>

namespace mlir::mpmd {

/// Sorts the ops of `block`, without its terminator, so that producers precede
/// users, and returns whether that was possible.
///
/// Gives the order of upstream's `sortTopologically`: sweep over the ops again
/// and again, and take those whose producers are taken already. So an op that
/// waits for a later one ends up after everything that was ready before, and
/// a sorted block does not change. Upstream's time is quadratic where users
/// are far ahead of their producers; this is linear. Where there is a cycle,
/// upstream's own way of breaking it is used.
bool sortBlockTopologically(Block &block);

/// Orders between the ops of a graph, by position, that are not in the IR.
class OrderConstraints {
public:
  using Edge = EdgeTable::Edge;

  explicit OrderConstraints(unsigned numOps)
      : numOps(numOps), numNodes(numOps) {}
  explicit OrderConstraints(const BlockGraph &graph)
      : OrderConstraints(graph.size()) {}

  void add(unsigned before, unsigned after) {
    edges.emplace_back(before, after);
  }
  /// Each op of `before` precedes each of `after`. Costs their sum, not their
  /// product.
  void add(ArrayRef<unsigned> before, ArrayRef<unsigned> after);

  unsigned getOpCount() const { return numOps; }
  /// Numbers after those of the ops represent what is between two groups.
  bool isOp(unsigned node) const { return node < numOps; }
  unsigned getNodeCount() const { return numNodes; }
  ArrayRef<Edge> getEdges() const { return edges; }

private:
  unsigned numOps, numNodes;
  std::vector<Edge> edges;
};

/// Ops by position, which may be described only.
struct SortedOps {
  std::vector<unsigned> order;
  std::vector<unsigned> sweeps; ///< By position: in which one an op is taken.
};

/// The order into which ops are sorted, each of which reads `producers`, if the constraints
/// hold as well; none if they contradict each other or what is read.
std::optional<SortedOps> findSortedOrder(const EdgeTable &producers,
                                         const OrderConstraints &constraints);

/// Sorts so that the constraints hold as well, as if each were a use. Returns false
/// and leaves the block as it is if they contradict each other or the uses.
/// Linear in ops, uses and constraints.
bool sortBlockTopologically(const BlockGraph &graph,
                            const OrderConstraints &constraints);

} // namespace mlir::mpmd

#endif
