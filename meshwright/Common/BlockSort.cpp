//===- BlockSort.cpp ------------------------------------------------------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// The sweep in which an op is taken follows from those of its producers: the
// same one if the producer stands before the op, the next one otherwise; an op
// without producers is taken in sweep 0. Within a sweep the old order stands.
// One walk in the order of dependencies computes all sweeps.
//
//===----------------------------------------------------------------------===//

#include "meshwright/Common/BlockSort.h"
#include "mlir/Analysis/TopologicalSortUtils.h"
#include "mlir/IR/OpDefinition.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/Sequence.h"

using namespace mlir;

namespace {
struct Entry {
  explicit Entry(Operation *op) : op(op) {}

  Operation *op;
  unsigned sweep = 0;
  /// Producers, each use counted, that have no final sweep yet.
  unsigned numPending = 0;
  SmallVector<unsigned, 4> readers;
};
} // namespace

/// Adds to the entries which of them `op`, or an op nested in it, reads.
static void addReads(unsigned reader, MutableArrayRef<Entry> entries,
                     const DenseMap<Operation *, unsigned> &positions,
                     Block &block) {
  entries[reader].op->walk<WalkOrder::PreOrder>([&](Operation *nested) {
    for (Value operand : nested->getOperands()) {
      Operation *producer = operand.getDefiningOp();
      if (producer)
        producer = block.findAncestorOpInBlock(*producer);
      auto it = positions.find(producer);
      if (it == positions.end() || it->second == reader)
        continue;
      entries[it->second].readers.push_back(reader);
      ++entries[reader].numPending;
    }
    // What is isolated reads nothing of this block.
    bool skip = nested->hasTrait<OpTrait::IsIsolatedFromAbove>();
    return skip ? WalkResult::skip() : WalkResult::advance();
  });
}

/// Computes the sweep of each entry; returns how many have one in the end.
static size_t computeSweeps(MutableArrayRef<Entry> entries) {
  SmallVector<unsigned> ready;
  for (auto [position, entry] : llvm::enumerate(entries))
    if (entry.numPending == 0)
      ready.push_back(position);
  size_t numDone = 0;
  while (!ready.empty()) {
    unsigned producer = ready.pop_back_val();
    ++numDone;
    for (unsigned reader : entries[producer].readers) {
      unsigned sweep = entries[producer].sweep + (producer > reader);
      entries[reader].sweep = std::max(entries[reader].sweep, sweep);
      if (--entries[reader].numPending == 0)
        ready.push_back(reader);
    }
  }
  return numDone;
}

bool mlir::mpmd::sortBlockTopologically(Block &block) {
  if (block.empty())
    return true;
  Operation *terminator =
      block.back().hasTrait<OpTrait::IsTerminator>() ? &block.back() : nullptr;
  std::vector<Entry> entries;
  DenseMap<Operation *, unsigned> positions;
  for (Operation &op : block)
    if (&op != terminator) {
      positions[&op] = entries.size();
      entries.emplace_back(&op);
    }
  for (unsigned i = 0, e = entries.size(); i != e; ++i)
    addReads(i, entries, positions, block);
  if (computeSweeps(entries) != entries.size())
    return sortTopologically(&block);

  SmallVector<unsigned> order = llvm::to_vector(
      llvm::seq<unsigned>(0, static_cast<unsigned>(entries.size())));
  llvm::sort(order, [&](unsigned a, unsigned b) {
    return std::pair(entries[a].sweep, a) < std::pair(entries[b].sweep, b);
  });
  Block::iterator next = block.begin();
  for (unsigned position : order) {
    Operation *op = entries[position].op;
    if (&*next == op)
      ++next;
    else
      op->moveBefore(&block, next);
  }
  return true;
}
