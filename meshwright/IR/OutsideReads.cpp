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
