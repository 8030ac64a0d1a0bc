//===- BlockDependencies.h - Who must run before whom -----------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// The data flow of a block as a graph over positions, to which a schedule adds
// edges of its own. Edges of a schedule may lead back in the block. A path from
// `a` to `b` may only pass through ops that stand before `b`: what is behind it
// is not asked, so an op never has a path to one that stands before it.
//
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_OPTIMIZE_BLOCKDEPENDENCIES_H
#define MESHWRIGHT_OPTIMIZE_BLOCKDEPENDENCIES_H

#include "mlir/IR/Block.h"
#include "mlir/IR/Operation.h"
#include "llvm/ADT/BitVector.h"
#include "llvm/ADT/DenseMap.h"
#include <queue>

namespace mlir::mpmd {

class BlockDependencies {
public:
  explicit BlockDependencies(Block &block);

  unsigned getPosition(Operation *op) const { return positions.at(op); }
  unsigned getPositionCount() const { return successors.size(); }
  void addEdge(unsigned from, unsigned to);
  ArrayRef<unsigned> getSuccessors(unsigned position) const {
    return successors[position];
  }

  /// The positions from which a path leads to `to`. Linear in the graph.
  llvm::BitVector findAncestors(unsigned to) const;
  bool hasPath(unsigned from, unsigned to) const;

private:
  DenseMap<Operation *, unsigned> positions;
  SmallVector<SmallVector<unsigned, 4>> successors, predecessors;
};

/// Answers for one `from` and ascending `to` whether there is a path, while
/// edges that start at `from` are added. All questions together cost one
/// search.
class ForwardPaths {
public:
  ForwardPaths(BlockDependencies &graph, unsigned from);

  bool reaches(unsigned to);
  void addEdge(unsigned to);

private:
  void enter(unsigned position);

  BlockDependencies &graph;
  unsigned from;
  unsigned limit; ///< The largest position asked for so far.
  llvm::BitVector reached;
  /// Found, but behind the limit.
  std::priority_queue<unsigned, std::vector<unsigned>, std::greater<unsigned>>
      waiting;
};

} // namespace mlir::mpmd

#endif
