//===- SplitContraction.h - Sums over devices, and their parts --*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_SHARDING_SPLITCONTRACTION_H
#define MESHWRIGHT_SHARDING_SPLITCONTRACTION_H

#include "meshwright/Dialect/Sdy/SdyDialect.h"
#include "mlir/IR/Builders.h"
#include <optional>

namespace mlir::mpmd {

/// A dimension of two operands over which an op sums, and which devices split.
struct SplitDimension {
  /// An operand, and its dimension; `other` has none for a sum.
  struct Place {
    unsigned operand = 0;
    int64_t dim = -1;
  };
  Place input, other;
  ArrayRef<sdy::AxisRefAttr> axes;
  Attribute mesh; ///< That of the axes, or the name of it.
  int64_t pieces;
};

/// Returns the dimension over which `op`, a dot product, a sum, a convolution or
/// a scatter that adds to nothing, leaves partial sums; none if it is no such
/// op, or if no whole axes split one of these dimensions evenly. `isZero` says
/// of a value whether all of its elements are zero. `why` gets the reason where
/// devices share a sum, and it is not one that can be left in parts.
std::optional<SplitDimension>
findSplitContraction(Operation *op, function_ref<bool(Value)> isZero,
                     std::string *why = nullptr);

/// Lets such an op leave its partial sums as they are, in a leading dimension of
/// its result, whose type and sharding it leaves to the caller. `zero` makes a
/// zero of the type that the result gets.
void splitContraction(Operation *op, const SplitDimension &split,
                      sdy::DimensionShardingAttr axes,
                      function_ref<Value()> zero, OpBuilder &builder);

/// The sharding of a tensor of one dimension more than those of `rank`, which
/// the axes of `mesh` split: it is inserted at `at`. Of the sharding `whole`,
/// without that dimension, it keeps what other axes of that mesh split.
sdy::TensorShardingAttr insertDim(sdy::TensorShardingAttr whole, int64_t rank,
                                  int64_t at, sdy::DimensionShardingAttr axes,
                                  Attribute mesh);

/// A tensor of zeros; null if its elements cannot be zero.
DenseElementsAttr getZeros(RankedTensorType type);

/// The one number of a constant whose elements are all equal, or null.
Attribute getSplatNumber(Value value);
bool isConstantZero(Value value);

/// Whether an op adds up one tensor along dimensions.
bool isSum(Operation *op);

} // namespace mlir::mpmd

#endif
