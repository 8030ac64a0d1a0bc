//===- TypeCompatibility.h - When one type may replace another --*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
// When two types may represent the same value.
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_DIALECT_STABLEHLO_TYPECOMPATIBILITY_H
#define MESHWRIGHT_DIALECT_STABLEHLO_TYPECOMPATIBILITY_H

#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/Diagnostics.h"
#include "mlir/IR/TypeRange.h"
#include "mlir/IR/TypeUtilities.h"
#include "mlir/Support/LLVM.h"
#include <optional>

namespace mlir::stablehlo {

class TypeExtensionsAttr;

/// Returns the bounds of a tensor type, one per dimension and
/// ShapedType::kDynamic where there is none; empty if it has no bounds at all.
ArrayRef<int64_t> getBounds(RankedTensorType type);

/// Returns the encoding with these bounds, null (no encoding) if none of the
/// dimensions has one.
Attribute getBoundsEncoding(MLIRContext *context, ArrayRef<int64_t> bounds);

/// Two dimensions are compatible if they are equal or one of them is dynamic.
inline bool areDimsCompatible(int64_t a, int64_t b) {
  return a == b || ShapedType::isDynamic(a) || ShapedType::isDynamic(b);
}

/// Same rank, compatible dimensions; bounds play no role.
bool areShapesCompatible(ArrayRef<int64_t> a, ArrayRef<int64_t> b);
bool areShapesCompatible(Type a, Type b);

/// Element types (of tensors, or the types themselves) are compatible if they
/// are equal, or quantized the same way up to scales and zero points.
bool areElementTypesCompatible(Type a, Type b);

/// Tensor types are compatible if their shapes and element types are and no
/// static dimension exceeds the other side's bound; other types if they are
/// equal.
bool areTypesCompatible(Type a, Type b);
bool areTypesCompatible(TypeRange a, TypeRange b);

/// Returns the type that knows the most about the shape: a dimension is static
/// if it is in any of the types. Fails, with an error if there is a location,
/// if the types contradict each other.
FailureOr<Type> inferMostSpecificType(std::optional<Location> location,
                                      TypeRange types);

/// Likewise the type that all types are refinements of: a dimension is static
/// if it is in all of the types.
FailureOr<Type> inferLeastSpecificType(std::optional<Location> location,
                                       TypeRange types);

} // namespace mlir::stablehlo

#endif
