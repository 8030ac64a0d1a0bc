//===- BlockOrder.cpp - The order of a block while ops move ---------------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

#include "meshwright/Order/BlockOrder.h"

using namespace mlir;
using namespace mlir::mpmd;

/// An op moves into the middle of a gap, so that about as many ops as this has
/// bits fit into one before the block has to be numbered again.
static constexpr uint64_t kGap = uint64_t(1) << 32;

BlockOrder::BlockOrder(Block &block) : block(block) { number(); }

void BlockOrder::number() {
  uint64_t position = 0;
  for (Operation &op : block)
    positions[&op] = position += kGap;
}

Operation *BlockOrder::getFirstUser(Operation *op) const {
  Operation *first = nullptr;
  for (Operation *user : op->getUsers()) {
    Operation *ancestor = block.findAncestorOpInBlock(*user);
    if (ancestor && (!first || isBefore(ancestor, first)))
      first = ancestor;
  }
  return first;
}

void BlockOrder::moveBefore(Operation *op, Operation *next) {
  op->moveBefore(next);
  Operation *previous = op->getPrevNode();
  uint64_t low = previous ? positions.lookup(previous) : 0;
  uint64_t high = positions.lookup(next);
  if (high - low < 2)
    return number();
  positions[op] = low + (high - low) / 2;
}
