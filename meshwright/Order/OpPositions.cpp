//===- OpPositions.cpp ----------------------------------------------------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// Ops get numbers with wide gaps. One that moves takes a number close to that
// of the op before it, since what moves next often goes right behind it; still
// there is room on both sides. Only when a gap is used up is the block numbered
// again.
//
//===----------------------------------------------------------------------===//

#include "meshwright/Order/OpPositions.h"

using namespace mlir;
using namespace mlir::mpmd;

static constexpr int64_t kGap = int64_t(1) << 36;
static constexpr int64_t kStep = int64_t(1) << 12;

OpPositions::OpPositions(func::FuncOp func) {
  for (Block &block : func.getBody())
    number(block);
}

void OpPositions::number(Block &block) {
  int64_t position = 0;
  for (Operation &op : block)
    positions[&op] = position += kGap;
}

void OpPositions::update(Operation *op) {
  Operation *previous = op->getPrevNode();
  if (!previous) {
    positions[op] = first -= kStep;
    return;
  }
  int64_t low = positions.at(previous);
  int64_t room = positions.at(op->getNextNode()) - low;
  if (room < 2)
    return number(*op->getBlock());
  positions[op] = low + std::min(room / 2, kStep);
}
