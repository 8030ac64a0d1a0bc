//===- ConstantOperands.cpp -----------------------------------------------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

#include "meshwright/Dialect/StableHLO/ConstantOperands.h"
#include "meshwright/Dialect/StableHLO/TypeCompatibility.h"
#include "mlir/IR/Operation.h"

using namespace mlir;
using namespace mlir::stablehlo;

/// Null if it is not constant. MLIR's matcher asserts that a constant has a
/// value, which is seen only when it is verified, after all ops before it.
static Attribute getConstant(Value operand) {
  Operation *op = operand.getDefiningOp();
  SmallVector<OpFoldResult, 1> folded;
  if (!op || !op->hasTrait<OpTrait::ConstantLike>() ||
      failed(op->fold(/*operands=*/{}, folded)))
    return {};
  return dyn_cast<Attribute>(folded.front());
}

bool stablehlo::isConstantOperand(Value operand) {
  return static_cast<bool>(getConstant(operand));
}

DenseIntElementsAttr stablehlo::getConstantOperand(Value operand) {
  auto value = dyn_cast_or_null<DenseIntElementsAttr>(getConstant(operand));
  // Before it is verified it may be of another type, and of any size.
  return value && value.getType() == operand.getType() ? value : nullptr;
}

bool stablehlo::matchConstantOperand(Value operand,
                                     SmallVectorImpl<int64_t> &elements) {
  DenseIntElementsAttr value = getConstantOperand(operand);
  if (!value)
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
