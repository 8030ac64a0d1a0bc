//===- LastUses.cpp - Where a block reads its values last -----------------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

#include "meshwright/Fragments/LastUses.h"

using namespace mlir;
using namespace mlir::mpmd;

LastUses::LastUses(Block &block) : block(&block) {
  for (Operation &op : block)
    for (OpOperand &operand : op.getOpOperands())
      if (!operand.get().hasOneUse())
        lastUses[operand.get()] = &operand;
}

OpOperand *LastUses::get(Value value) const {
  if (!value.hasOneUse())
    return lastUses.lookup(value);
  OpOperand &use = *value.use_begin();
  return use.getOwner()->getBlock() == block ? &use : nullptr;
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
