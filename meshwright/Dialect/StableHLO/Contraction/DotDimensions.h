//===- DotDimensions.h - Dimensions of dot products -------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_DIALECT_STABLEHLO_CONTRACTION_DOTDIMENSIONS_H
#define MESHWRIGHT_DIALECT_STABLEHLO_CONTRACTION_DOTDIMENSIONS_H

#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/Operation.h"
#include "llvm/ADT/SmallBitVector.h"

namespace mlir::stablehlo {

/// Checks that dimensions of one operand, which `among` names, are in range and
/// occur once, and marks them.
LogicalResult markDims(Operation *op, StringRef side, RankedTensorType type,
                       ArrayRef<ArrayRef<int64_t>> lists, StringRef among,
                       llvm::SmallBitVector &used);

/// Checks that the sizes of dimensions that pair up agree.
LogicalResult verifyPairedDims(Operation *op, StringRef kind,
                               RankedTensorType lhs, RankedTensorType rhs,
                               ArrayRef<int64_t> lhsDims,
                               ArrayRef<int64_t> rhsDims);

/// Appends the sizes of the dimensions that are not marked.
void appendFreeSizes(RankedTensorType type, const llvm::SmallBitVector &used,
                     SmallVectorImpl<int64_t> &shape);

} // namespace mlir::stablehlo

#endif
