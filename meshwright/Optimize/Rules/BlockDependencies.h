//===- BlockDependencies.h - Who must run before whom -----------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// The data flow of a block as a graph over positions, to which rules add edges
// of their own. These may lead back in the block. A path from `a` to `b` may
// only pass through ops before `b`: what is after it is not looked at,
// so an op never has a path to an earlier one, and edges may form
// cycles.
//
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_OPTIMIZE_RULES_BLOCKDEPENDENCIES_H
#define MESHWRIGHT_OPTIMIZE_RULES_BLOCKDEPENDENCIES_H

#include "meshwright/Order/BlockGraph.h"

namespace mlir::mpmd {

class BlockDependencies {
public:
  explicit BlockDependencies(Block &block);

  unsigned getPosition(Operation *op) const { return graph.getPosition(op); }
  void addEdge(unsigned from, unsigned to);
  /// Looks at ops between the two, and before them as far as edges lead back.
  bool hasPath(unsigned from, unsigned to);

private:
  BlockGraph graph;
  std::vector<SmallVector<unsigned, 2>> predecessors; ///< By added edges.
  unsigned lowestTarget; ///< Of the edges that lead back.
  unsigned search = 0;
  std::vector<unsigned> found; ///< The last search that found a position.
};

} // namespace mlir::mpmd

#endif
