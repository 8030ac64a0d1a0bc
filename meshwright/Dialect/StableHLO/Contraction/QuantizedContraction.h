//===- QuantizedContraction.h - Quantized factors and products --*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_DIALECT_STABLEHLO_CONTRACTION_QUANTIZEDCONTRACTION_H
#define MESHWRIGHT_DIALECT_STABLEHLO_CONTRACTION_QUANTIZEDCONTRACTION_H

#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/Operation.h"

namespace mlir::stablehlo {

/// Verifies the element types of a contraction if any is quantized:
/// 1. The right side is, and the left side is if and only if the result is.
/// 2. Sides share the storage type if both are quantized, and all types express
///    the same type.
/// 3. Zero points of the right side are zero.
/// 4. The right side is not quantized along one of `contractedRhsDims`; it is
///    quantized per axis if the result is.
LogicalResult verifyQuantizedContraction(Operation *op, RankedTensorType lhs,
                                         RankedTensorType rhs,
                                         RankedTensorType result,
                                         ArrayRef<int64_t> contractedRhsDims);

} // namespace mlir::stablehlo

#endif
