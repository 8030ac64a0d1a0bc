//===- ReducerRules.h - What the body of a reduction may be -----*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_DIALECT_STABLEHLO_REDUCERRULES_H
#define MESHWRIGHT_DIALECT_STABLEHLO_REDUCERRULES_H

#include "mlir/IR/Operation.h"
#include "mlir/IR/TypeRange.h"
#include <optional>

namespace mlir::stablehlo {

/// Returns the operands of the terminator of a region's only block, or nothing
/// if there is no such block or terminator, which the IR verifier reports.
std::optional<OperandRange> getReturnedValues(Region &region);

/// Whether each value of element type `from` can be written as one of `to`: the
/// class is the same and the width not smaller. Floats promote to any float.
bool isPromotable(Type from, Type to);

/// Verifies that operands are one or more inputs, of compatible shapes, and as many
/// init values.
LogicalResult verifyPairedOperands(std::optional<Location> location,
                                   ValueRange operands);

/// Verifies a body that reduces N inputs with N init values:
/// 1. It takes 2N tensors and returns N.
/// 2. Arguments i and N + i have the type of returned value i; the precision of
///    a float argument N + i may differ.
/// 3. Init value i has the shape of returned value i, and its elements promote
///    to those.
/// 4. The elements of input i promote to those of argument N + i.
/// 5. The shape of an argument is a subsequence of `resultShape`.
/// Types of inputs and init values are tensor types; errors go to `op`.
LogicalResult verifyReducer(Operation *op, Region &body, TypeRange inputs,
                            TypeRange inits, ArrayRef<int64_t> resultShape);

/// Returns one type per shape, with the element types that `body` returns.
/// Fails, with an error if there is a location, if it returns other than that
/// many tensors.
FailureOr<SmallVector<Type>>
inferReducedTypes(std::optional<Location> location, Region &body,
                  ArrayRef<RankedTensorType> shapes);

} // namespace mlir::stablehlo

#endif
