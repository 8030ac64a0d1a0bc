//===- BlockSort.cpp ------------------------------------------------------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// The sweep in which an op is taken follows from those of its producers: the
// same one if the producer stands before the op, the next one otherwise; an op
// without producers is taken in sweep 0. Within a sweep the old order stands.
// One walk in the order of dependencies computes all sweeps.
//
// A demand between two large groups goes through a node of its own, which
// remembers the latest of the one group: its last sweep, and the last position
// in that sweep. That is all that the other group needs to know.
//
//===----------------------------------------------------------------------===//

#include "meshwright/Common/BlockSort.h"
#include "mlir/Analysis/TopologicalSortUtils.h"
#include "mlir/IR/OpDefinition.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/Sequence.h"

using namespace mlir;
using namespace mlir::mpmd;

namespace {
struct Node {
  Operation *op; ///< Null between two groups.
  unsigned sweep = 0;
  /// Of the op in the block; between groups, of the latest op so far.
  unsigned position = 0;
  /// Producers, each use counted, that have no final sweep yet.
  unsigned numPending = 0;
  SmallVector<unsigned, 4> readers;
};

class BlockSorter {
public:
  explicit BlockSorter(Block &block);

  void addDemand(const OrderGroup &group);
  /// Returns false if there is a cycle.
  bool computeSweeps();
  /// Moves the ops to where the sweeps put them.
  void moveOps();

private:
  void addReads(unsigned reader);
  void addEdge(unsigned producer, unsigned reader) {
    nodes[producer].readers.push_back(reader);
    ++nodes[reader].numPending;
  }
  void propagate(const Node &producer, Node &reader);

  Block &block;
  unsigned numOps = 0;
  std::vector<Node> nodes; ///< Ops by position, then the nodes of groups.
  DenseMap<Operation *, unsigned> positions;
};
} // namespace

BlockSorter::BlockSorter(Block &block) : block(block) {
  Operation *terminator = nullptr;
  if (!block.empty() && block.back().hasTrait<OpTrait::IsTerminator>())
    terminator = &block.back();
  for (Operation &op : block)
    if (&op != terminator) {
      positions[&op] = numOps;
      nodes.push_back({&op, /*sweep=*/0, /*position=*/numOps, 0, {}});
      ++numOps;
    }
  for (unsigned i = 0; i != numOps; ++i)
    addReads(i);
}

/// Adds which ops this one, or an op nested in it, reads.
void BlockSorter::addReads(unsigned reader) {
  nodes[reader].op->walk<WalkOrder::PreOrder>([&](Operation *nested) {
    for (Value operand : nested->getOperands()) {
      Operation *producer = operand.getDefiningOp();
      if (producer)
        producer = block.findAncestorOpInBlock(*producer);
      auto it = positions.find(producer);
      if (it != positions.end() && it->second != reader)
        addEdge(it->second, reader);
    }
    // What is isolated reads nothing of this block.
    bool skip = nested->hasTrait<OpTrait::IsIsolatedFromAbove>();
    return skip ? WalkResult::skip() : WalkResult::advance();
  });
}

void BlockSorter::addDemand(const OrderGroup &group) {
  if (group.before.size() == 1 || group.after.size() == 1) {
    for (Operation *before : group.before)
      for (Operation *after : group.after)
        addEdge(positions.at(before), positions.at(after));
    return;
  }
  unsigned between = nodes.size();
  nodes.push_back({nullptr, 0, 0, 0, {}});
  for (Operation *before : group.before)
    addEdge(positions.at(before), between);
  for (Operation *after : group.after)
    addEdge(between, positions.at(after));
}

void BlockSorter::propagate(const Node &producer, Node &reader) {
  if (reader.op) {
    unsigned sweep = producer.sweep + (producer.position > reader.position);
    reader.sweep = std::max(reader.sweep, sweep);
    return;
  }
  auto latest = std::max(std::pair(reader.sweep, reader.position),
                         std::pair(producer.sweep, producer.position));
  std::tie(reader.sweep, reader.position) = latest;
}

bool BlockSorter::computeSweeps() {
  SmallVector<unsigned> ready;
  for (auto [index, node] : llvm::enumerate(nodes))
    if (node.numPending == 0)
      ready.push_back(index);
  size_t numDone = 0;
  while (!ready.empty()) {
    const Node &producer = nodes[ready.pop_back_val()];
    ++numDone;
    for (unsigned reader : producer.readers) {
      propagate(producer, nodes[reader]);
      if (--nodes[reader].numPending == 0)
        ready.push_back(reader);
    }
  }
  return numDone == nodes.size();
}

void BlockSorter::moveOps() {
  SmallVector<unsigned> order = llvm::to_vector(llvm::seq<unsigned>(0, numOps));
  llvm::sort(order, [&](unsigned a, unsigned b) {
    return std::pair(nodes[a].sweep, a) < std::pair(nodes[b].sweep, b);
  });
  Block::iterator next = block.begin();
  for (unsigned position : order) {
    Operation *op = nodes[position].op;
    if (&*next == op)
      ++next;
    else
      op->moveBefore(&block, next);
  }
}

bool mlir::mpmd::sortBlockTopologically(Block &block) {
  return sortBlockTopologically(block, {}) || sortTopologically(&block);
}

bool mlir::mpmd::sortBlockTopologically(Block &block,
                                        ArrayRef<OrderGroup> groups) {
  BlockSorter sorter(block);
  for (const OrderGroup &group : groups)
    sorter.addDemand(group);
  if (!sorter.computeSweeps())
    return false;
  sorter.moveOps();
  return true;
}
