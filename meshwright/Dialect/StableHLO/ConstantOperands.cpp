//===- ConstantOperands.cpp -----------------------------------------------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

#include "meshwright/Dialect/StableHLO/ConstantOperands.h"
#include "meshwright/Dialect/StableHLO/TypeCompatibility.h"
#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/Matchers.h"
#include "mlir/IR/Operation.h"

using namespace mlir;
using namespace mlir::stablehlo;

bool stablehlo::isConstantOperand(Value operand) {
  return matchPattern(operand, m_Constant());
}

bool stablehlo::matchConstantOperand(Value operand,
                                     SmallVectorImpl<int64_t> &elements) {
  DenseIntElementsAttr value;
  if (!matchPattern(operand, m_Constant(&value)))
    return false;
  // The constant may not be verified yet, and be of any size.
  if (value.getType() != operand.getType())
    return false;
  for (const APInt &element : value)
    elements.push_back(element.getSExtValue());
  return true;
}

LogicalResult stablehlo::verifyShapeOperand(Operation *op, StringRef name,
                                            Value operand,
                                            RankedTensorType type) {
  int64_t size = cast<RankedTensorType>(operand.getType()).getDimSize(0);
  if (!areDimsCompatible(size, type.getRank()))
    return op->emitOpError()
           << name << " has " << size << " elements, but the rank of " << type
           << " is " << type.getRank();
  SmallVector<int64_t> shape;
  if (matchConstantOperand(operand, shape) &&
      !areShapesCompatible(shape, type.getShape()))
    return op->emitOpError()
           << name << " is [" << shape << "], which does not fit " << type;
  return success();
}
