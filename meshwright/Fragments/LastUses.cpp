//===- LastUses.cpp - Where a block reads its values last -----------------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

#include "meshwright/Fragments/LastUses.h"

using namespace mlir;
using namespace mlir::mpmd;

LastUses::LastUses(Block &block) {
  // Growing by itself it would be copied again and again.
  size_t numValues = block.getNumArguments();
  for (Operation &op : block)
    numValues += op.getNumResults();
  lastUses.reserve(numValues);
  for (Operation &op : block)
    for (OpOperand &operand : op.getOpOperands())
      lastUses[operand.get()] = &operand;
}

SmallVector<Value> LastUses::getEnding(Operation *op) const {
  SmallVector<Value> ending;
  for (OpOperand &operand : op->getOpOperands())
    if (get(operand.get()) == &operand)
      ending.push_back(operand.get());
  for (Value result : op->getResults())
    if (!get(result))
      ending.push_back(result);
  return ending;
}
