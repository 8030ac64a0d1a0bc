//===- ConstantOperands.h - Operands known at compile time ------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_DIALECT_STABLEHLO_CONSTANTOPERANDS_H
#define MESHWRIGHT_DIALECT_STABLEHLO_CONSTANTOPERANDS_H

#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/Value.h"

namespace mlir::stablehlo {

/// Returns true if the operand is produced by a constant.
bool isConstantOperand(Value operand);

/// The value of an integer tensor; null if it is not constant.
DenseIntElementsAttr getConstantOperand(Value operand);

/// Appends the elements of an integer tensor, if they are constant. The caller has
/// seen that there are not too many.
bool matchConstantOperand(Value operand, SmallVectorImpl<int64_t> &elements);

/// Verifies that a 1-D operand has as many elements as `type` has dimensions
/// and, where both are known, that its elements are these dimensions.
LogicalResult verifyShapeOperand(Operation *op, StringRef name, Value operand,
                                 RankedTensorType type);

} // namespace mlir::stablehlo

#endif
