//===- OutsideReads.cpp - What an op reads --------------------------------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

#include "meshwright/IR/OutsideReads.h"
#include "mlir/Transforms/RegionUtils.h"

using namespace mlir;

SetVector<Value> mpmd::getCaptures(Operation *op) {
  SetVector<Value> captures;
  getUsedValuesDefinedAbove(op->getRegions(), captures);
  return captures;
}

SetVector<Value> mpmd::getOutsideReads(Operation *op) {
  SetVector<Value> values(op->operand_begin(), op->operand_end());
  getUsedValuesDefinedAbove(op->getRegions(), values);
  return values;
}

void mpmd::addDependencies(SmallVector<Value> values,
                           llvm::DenseSet<Operation *> &known) {
  while (!values.empty()) {
    Operation *op = values.pop_back_val().getDefiningOp();
    if (!op || !known.insert(op).second)
      continue;
    llvm::SetVector<Value> operands = getOutsideReads(op);
    values.append(operands.begin(), operands.end());
  }
}
