//===- BlockOrder.cpp - The order of ops that patterns move ---------------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

#include "meshwright/Import/Place/BlockOrder.h"

using namespace mlir;
using namespace mlir::mpmd;

static constexpr uint64_t kGap = uint64_t(1) << 32;

bool BlockOrder::isBefore(Operation *a, Operation *b) {
  if (!numbers.contains(a) || !numbers.contains(b))
    number(a->getBlock());
  return numbers.lookup(a) < numbers.lookup(b);
}

void BlockOrder::notifyOperationInserted(Operation *op,
                                         OpBuilder::InsertPoint) {
  // Also called for an op that moved, whose number is void.
  numbers.erase(op);
  Operation *before = op->getPrevNode(), *after = op->getNextNode();
  if ((!before && !after) || (before && !numbers.contains(before)) ||
      (after && !numbers.contains(after)))
    return; // In a block that nobody asked about, or not since.
  uint64_t low = before ? numbers.lookup(before) : 0;
  uint64_t high = after ? numbers.lookup(after) : low + 2 * kGap;
  if (high - low > 1)
    numbers[op] = low + (high - low) / 2;
}

void BlockOrder::number(Block *block) {
  uint64_t next = kGap;
  for (Operation &op : *block) {
    numbers[&op] = next;
    next += kGap;
  }
}
