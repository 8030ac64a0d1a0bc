//===- BlockOrder.cpp - The order of a block while it changes -------------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// Ops get numbers with wide gaps. One that is put between two others takes a
// number close to that of the op before it, since what comes next often goes
// right after it; numbers are free on both sides. An op for which there is
// none has no number, and the block is numbered again when asked about.
//
//===----------------------------------------------------------------------===//

#include "meshwright/Order/BlockOrder.h"

using namespace mlir;
using namespace mlir::mpmd;

static constexpr int64_t kGap = int64_t(1) << 36;
static constexpr int64_t kStep = int64_t(1) << 12;

BlockOrder::Position BlockOrder::getPosition(Operation *op) {
  auto it = numbers.find(op);
  if (it != numbers.end())
    return it->second;
  number(op->getBlock());
  return numbers.at(op);
}

bool BlockOrder::isBefore(Operation *a, Operation *b) {
  auto first = numbers.find(a), second = numbers.find(b);
  if (first != numbers.end() && second != numbers.end())
    return first->second < second->second;
  number(a->getBlock());
  return numbers.at(a) < numbers.at(b);
}

Operation *BlockOrder::getFirstUser(Operation *op) {
  Operation *first = nullptr;
  for (Operation *user : op->getUsers()) {
    Operation *ancestor = op->getBlock()->findAncestorOpInBlock(*user);
    if (ancestor && (!first || isBefore(ancestor, first)))
      first = ancestor;
  }
  return first;
}

void BlockOrder::notifyOperationInserted(Operation *op,
                                         OpBuilder::InsertPoint) {
  // Also called for an op that moved, whose number is void.
  numbers.erase(op);
  Operation *before = op->getPrevNode(), *after = op->getNextNode();
  auto low = numbers.find(before), high = numbers.find(after);
  if ((!before && !after) || (before && low == numbers.end()) ||
      (after && high == numbers.end()))
    return; // In a block that was not asked about, or not since.
  int64_t number;
  if (!before)
    number = high->second - kStep;
  else if (!after)
    number = low->second + kStep;
  else if (int64_t room = high->second - low->second; room > 1)
    number = low->second + std::min(room / 2, kStep);
  else
    return;
  numbers[op] = number;
}

void BlockOrder::number(Block *block) {
  int64_t next = 0;
  for (Operation &op : *block)
    numbers[&op] = next += kGap;
}
