//===- BlockGraph.h - What reads what in a block ----------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// Problem. Passes that reorder a block ask for the producers and readers of ops, and
// may not swap effects. Use lists of MLIR are linked lists without positions.
//
// Example. Positions, and the edges of a block in which both calls have effects:
//
//     0: %a = fragment @m1 ()          producers(2) = {0, 1}
//     1: %b = call_with_effects ()     producers(3) = {1}: an effect keeps its order
//     2: %c = fragment @m1 (%a, %b)    readers(0)   = {2}
//     3: call_with_effects ()          readers(1)   = {2, 3}
//
// Invariant. Edges are those of the block when the graph was made; positions stay valid
// while ops move, since a pass moves ops at the end. An op reads what the ops nested in
// it read.
//
// Cost. Linear in ops and uses; two arrays per direction (compressed sparse rows).
//
// Name in the literature: dependence graph (data dependences and order of effects).
//
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_ORDER_BLOCKGRAPH_H
#define MESHWRIGHT_ORDER_BLOCKGRAPH_H

#include "mlir/IR/Block.h"
#include "mlir/IR/Operation.h"
#include "llvm/ADT/DenseMap.h"
#include <iterator>

namespace mlir::mpmd {

/// Edges between numbered nodes, those of one node next to each other.
class EdgeTable {
public:
  /// Leads from the first to the second.
  using Edge = std::pair<unsigned, unsigned>;

  /// The edges of a node keep their order.
  EdgeTable(ArrayRef<Edge> edges, size_t numNodes);

  ArrayRef<unsigned> operator[](unsigned node) const {
    return ArrayRef(targets).slice(starts[node],
                                   starts[node + 1] - starts[node]);
  }

private:
  std::vector<unsigned> starts, targets;
};

/// The ops of a block but its terminator, which may be one that no dialect knows
/// as such.
inline iterator_range<Block::iterator> getOpsBeforeTerminator(Block &block) {
  return {block.begin(),
          block.mightHaveTerminator() ? std::prev(block.end()) : block.end()};
}

/// The ops of a block but its terminator, by position, and what each reads. An op
/// counts as a reader of what it must stay after because of effects.
class BlockGraph {
public:
  /// `Ignored` is for a block whose ops were moved without regard to effects: their
  /// order there means nothing.
  enum class Effects { AsInBlock, Ignored };

  explicit BlockGraph(Block &block, Effects effects = Effects::AsInBlock);

  Block &getBlock() const { return block; }
  unsigned size() const { return ops.size(); }
  Operation *getOp(unsigned position) const { return ops[position]; }
  unsigned getPosition(Operation *op) const { return positions.at(op); }

  /// Where the ops are that this one reads; one for each use.
  ArrayRef<unsigned> getProducers(unsigned position) const {
    return ArrayRef(producers).slice(starts[position],
                                     starts[position + 1] - starts[position]);
  }
  EdgeTable getReaders() const;
  /// Whether each op is after all that it reads.
  bool isSorted() const { return sorted; }

private:
  void addReads(Operation *op);
  void addProducer(unsigned producer) {
    producers.push_back(producer);
    sorted &= producer < starts.size() - 1;
  }

  Block &block;
  std::vector<Operation *> ops;
  DenseMap<Operation *, unsigned> positions;
  std::vector<unsigned> starts, producers;
  bool sorted = true;
};

} // namespace mlir::mpmd

#endif
