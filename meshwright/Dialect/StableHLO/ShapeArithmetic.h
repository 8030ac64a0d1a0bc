//===- ShapeArithmetic.h - Sizes that may be too large ----------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// Sums and products of what a user wrote need not fit into 64 bits. Everything
// that computes sizes of results does so here; nothing is returned where the
// result is no size.
//
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_DIALECT_STABLEHLO_SHAPEARITHMETIC_H
#define MESHWRIGHT_DIALECT_STABLEHLO_SHAPEARITHMETIC_H

#include "mlir/IR/BuiltinTypes.h"

namespace mlir::stablehlo {

/// Sums and products of two sizes, which may be wider than a size.
using WideSize = __int128;

/// Narrows a size; nothing if it is negative or more than the largest.
std::optional<int64_t> toSize(WideSize size);

/// The sum and product of sizes; dynamic if one is, nothing if too large.
std::optional<int64_t> addSizes(int64_t a, int64_t b);
std::optional<int64_t> multiplySizes(int64_t a, int64_t b);

/// The size of a dimension once `interior` elements lie between any two.
WideSize dilateSize(int64_t size, int64_t interior);

/// The number of elements of a shape; nothing if it is dynamic or too large.
std::optional<int64_t> countElements(ArrayRef<int64_t> shape);
inline std::optional<int64_t> countElements(ShapedType type) {
  return countElements(type.getShape());
}

/// Whether two shapes are static and have equally many elements, even if more
/// than can be counted.
bool haveAsManyElements(ShapedType a, ShapedType b);

} // namespace mlir::stablehlo

#endif
