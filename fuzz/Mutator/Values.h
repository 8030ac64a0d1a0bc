//===- Values.h - Other numbers, types and attributes -----------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_FUZZ_MUTATOR_VALUES_H
#define MESHWRIGHT_FUZZ_MUTATOR_VALUES_H

#include "Chance.h"
#include "mlir/IR/Attributes.h"
#include "mlir/IR/Types.h"

namespace meshwright::fuzz {

/// Zero, one, minus one, neighbours, powers of two, the ends of the range.
int64_t makeNumber(Chance &chance, int64_t old);

/// A size of a dimension: 0, 1, small, huge, dynamic.
int64_t makeSize(Chance &chance, int64_t old);

/// An element type of any kind that programs can have.
mlir::Type makeElementType(Chance &chance, mlir::MLIRContext *context);

/// Another shape, element type, encoding or rank; other types within it.
mlir::Type makeType(Chance &chance, mlir::Type old);

/// Of the same kind, with something in it that differs.
mlir::Attribute makeAttribute(Chance &chance, mlir::Attribute old);

/// The constant with another type: the same numbers as long as there are as
/// many, the first one everywhere else.
mlir::Attribute retype(mlir::Attribute constant, mlir::Type type);

} // namespace meshwright::fuzz

#endif
