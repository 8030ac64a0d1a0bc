//===- QuantizedContraction.cpp - Quantized factors and products ----------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

#include "meshwright/Dialect/StableHLO/Contraction/QuantizedContraction.h"
#include "mlir/Dialect/Quant/IR/QuantTypes.h"

using namespace mlir;
using namespace mlir::quant;

static Type getExpressedType(Type elementType) {
  auto quantized = dyn_cast<QuantizedType>(elementType);
  return quantized ? quantized.getExpressedType() : elementType;
}

/// Rules 3 and 4.
static LogicalResult verifyRhs(Operation *op, QuantizedType rhs, Type result,
                               ArrayRef<int64_t> contractedDims) {
  if (auto tensor = dyn_cast<UniformQuantizedType>(rhs)) {
    if (tensor.getZeroPoint() != 0)
      return op->emitOpError()
             << "zero point of rhs must be 0, but is " << tensor.getZeroPoint();
    if (isa<UniformQuantizedPerAxisType>(result))
      return op->emitOpError() << "result is quantized per axis, so rhs must "
                                  "be as well, but its elements are "
                               << rhs;
    return success();
  }
  auto axis = dyn_cast<UniformQuantizedPerAxisType>(rhs);
  if (!axis)
    return success();
  if (llvm::any_of(axis.getZeroPoints(), [](int64_t zp) { return zp != 0; }))
    return op->emitOpError() << "zero points of rhs must be 0, but its "
                                "elements are "
                             << rhs;
  if (llvm::is_contained(contractedDims, axis.getQuantizedDimension()))
    return op->emitOpError()
           << "quantization dimension of rhs, " << axis.getQuantizedDimension()
           << ", must not be contracted";
  return success();
}

LogicalResult stablehlo::verifyQuantizedContraction(
    Operation *op, RankedTensorType lhs, RankedTensorType rhs,
    RankedTensorType result, ArrayRef<int64_t> contractedRhsDims) {
  Type lhsElement = lhs.getElementType(),
       resultElement = result.getElementType();
  auto lhsQuantized = dyn_cast<QuantizedType>(lhsElement);
  auto rhsQuantized = dyn_cast<QuantizedType>(rhs.getElementType());
  bool isResultQuantized = isa<QuantizedType>(resultElement);
  if (!lhsQuantized && !rhsQuantized && !isResultQuantized)
    return success();
  if (!rhsQuantized || static_cast<bool>(lhsQuantized) != isResultQuantized)
    return op->emitOpError()
           << "rhs should be quantized for quantized operations, and lhs and "
              "result both or neither, but got "
           << lhs << ", " << rhs << " and " << result;
  if (lhsQuantized &&
      lhsQuantized.getStorageType() != rhsQuantized.getStorageType())
    return op->emitOpError() << "mismatched storage types of lhs and rhs, "
                             << lhsQuantized.getStorageType() << " and "
                             << rhsQuantized.getStorageType();
  if (getExpressedType(lhsElement) != rhsQuantized.getExpressedType() ||
      getExpressedType(resultElement) != rhsQuantized.getExpressedType())
    return op->emitOpError()
           << "mismatched expressed types of lhs, rhs and result, "
           << getExpressedType(lhsElement) << ", "
           << rhsQuantized.getExpressedType() << " and "
           << getExpressedType(resultElement);
  return verifyRhs(op, rhsQuantized, resultElement, contractedRhsDims);
}
