//===- ChloDialect.h --------------------------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_DIALECT_CHLO_DIALECT_H
#define MESHWRIGHT_DIALECT_CHLO_DIALECT_H

#include "meshwright/Dialect/StableHLO/StablehloDialect.h"

#include "meshwright/Dialect/CHLO/ChloDialect.h.inc"

#include "meshwright/Dialect/CHLO/ChloEnums.h.inc"

namespace mlir::chlo {
/// Operands of different shapes are repeated to a common one.
template <typename ConcreteType>
class Broadcasting : public OpTrait::TraitBase<ConcreteType, Broadcasting> {};
} // namespace mlir::chlo

#define GET_ATTRDEF_CLASSES
#include "meshwright/Dialect/CHLO/ChloAttrs.h.inc"

#define GET_OP_CLASSES
#include "meshwright/Dialect/CHLO/ChloOps.h.inc"

namespace mlir::chlo {
/// A constant of one value, which may be complex; null for a value of a kind that
/// no element has.
DenseElementsAttr getSplat(RankedTensorType type, TypedAttr value);
} // namespace mlir::chlo

#endif
