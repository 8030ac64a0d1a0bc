//===- LastUses.cpp - Where a block reads its values last -----------------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

#include "meshwright/Export/LastUses.h"

using namespace mlir;

llvm::DenseMap<Value, OpOperand *> mpmd::findLastUses(Block &block) {
  llvm::DenseMap<Value, OpOperand *> lastUses;
  for (Operation &op : block)
    for (OpOperand &operand : op.getOpOperands())
      lastUses[operand.get()] = &operand;
  return lastUses;
}
