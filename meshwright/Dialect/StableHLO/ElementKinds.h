//===- ElementKinds.h - Which types a value may have ------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_DIALECT_STABLEHLO_ELEMENTKINDS_H
#define MESHWRIGHT_DIALECT_STABLEHLO_ELEMENTKINDS_H

#include "mlir/IR/BuiltinTypes.h"

namespace mlir::stablehlo {

/// Classes of element types, as flags. Integers of other widths, signed
/// integers and the remaining float types are in no class.
enum ElementKind : unsigned {
  kFloat = 1,
  kPredicate = 2,
  kSignless = 4,
  kUnsigned = 8,
  kComplex = 16,
  kQuantized = 32,
  kAxisQuantized = 64,
  kIndex = 128,
};

/// The elements of values that any operation may pass on.
inline constexpr unsigned kPlain =
    kFloat | kPredicate | kSignless | kUnsigned | kComplex | kQuantized;

/// Returns the class of an element type, 0 if it has none.
unsigned getElementKind(Type elementType);

inline bool isQuantized(Type elementType) {
  return getElementKind(elementType) & (kQuantized | kAxisQuantized);
}

/// What the operand and result constraints of the dialect ask; `kinds` is a
/// set of flags, `rank` is checked if it is not negative.
bool isTensorOf(Type type, unsigned kinds, int64_t rank = -1);
bool isStaticTensorOf(Type type, unsigned kinds, int64_t rank = -1);
bool isStaticOrBoundedTensorOf(Type type, unsigned kinds);
bool isAnyRankTensorOf(Type type, unsigned kinds);
bool isTensorOfInt(Type type, unsigned width,
                   IntegerType::SignednessSemantics signedness);
bool isTensorOfF32OrF64(Type type);
bool isMemRefOf(Type type, unsigned kinds);
/// A tensor, memref or token that control flow may carry by itself.
bool isCarried(Type type);
bool isTupleOfValues(Type type);

/// Returns true for a 1-D tensor attribute of `index` elements.
bool isLayout(Attribute attribute);

} // namespace mlir::stablehlo

#endif
