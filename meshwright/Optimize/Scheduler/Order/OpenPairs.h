//===- OpenPairs.h - Pairs that nothing orders yet --------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_OPTIMIZE_SCHEDULER_ORDER_OPENPAIRS_H
#define MESHWRIGHT_OPTIMIZE_SCHEDULER_ORDER_OPENPAIRS_H

#include "meshwright/Optimize/Scheduler/Order/ConsistentOrder.h"

namespace mlir::mpmd {

/// Finds the pairs of units of which a path leads from neither to the other
/// when it is their turn, so that they are compared.
class OpenPairs {
public:
  OpenPairs(const BlockGraph &graph, const UnitConstraints &units,
            const ConsistentOrder &order);

  using Visitor = llvm::function_ref<void(unsigned first, unsigned second)>;
  /// Calls `visit` with pairs of a mesh of which `first` is required to come
  /// before `second`, and does from then on; those of the last `first` come
  /// before those of the one before it.
  void visitRequired(unsigned mesh, Visitor visit);
  /// Also with those that are not required, if `second` is after `first`.
  void visitAll(unsigned mesh, Visitor visit);

private:
  using Words = MutableArrayRef<uint64_t>;

  void visit(unsigned mesh, bool isAll, Visitor visit);
  void visitPairsOf(unsigned first, bool isAll, Visitor visit);
  bool isRequired(unsigned first, unsigned second) const {
    return units.isOfLowerRank(first, second) || constrained[second] == search;
  }
  bool isMet(unsigned first, unsigned earlier) const;
  void findRows(unsigned mesh);
  void findReached(unsigned first);
  void addExits(unsigned unit, unsigned first);
  void addSuffix(unsigned chain, unsigned rank);
  void addToSuffixes(unsigned unit);

  Words getRow(unsigned node) {
    return Words(rows).slice(size_t(node) * numWords, numWords);
  }
  void reach(unsigned node);

  const BlockGraph &graph;
  const UnitConstraints &units;
  const ConsistentOrder &order;
  EdgeTable readers, successors;

  // Of the mesh that is visited. A set has a bit for each of its units.
  unsigned mesh = 0;
  size_t numWords = 0;
  /// For each op, what it reaches by data flow, and itself.
  std::vector<uint64_t> rows;
  /// For each chain a Fenwick tree over ranks, highest first: what is reached by data
  /// flow from those units of a range of ranks that had no turn.
  std::vector<uint64_t> suffixes;
  std::vector<size_t> suffixStarts;

  // Of the unit whose turn it is.
  std::vector<uint64_t> reached;
  unsigned search = 0;
  std::vector<unsigned> found, left; ///< The last search that saw a node.
  /// The last search for a unit that requires this one, not by its rank.
  std::vector<unsigned> constrained;
  std::vector<unsigned> lowestRanks; ///< That was reached in a chain.
  SmallVector<unsigned> chains;      ///< In which one was reached.
};

} // namespace mlir::mpmd

#endif
