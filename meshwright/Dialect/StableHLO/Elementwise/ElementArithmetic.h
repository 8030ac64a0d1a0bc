//===- ElementArithmetic.h - Ops on single numbers --------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// What StableHLO's elementwise ops make of one number each. Nothing is returned
// where the compiled program may give another number: where an op is undefined,
// and around subnormal numbers, which processors may take for zeros.
//
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_DIALECT_STABLEHLO_ELEMENTWISE_ELEMENTARITHMETIC_H
#define MESHWRIGHT_DIALECT_STABLEHLO_ELEMENTWISE_ELEMENTARITHMETIC_H

#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/Operation.h"
#include "llvm/ADT/APFloat.h"
#include <complex>
#include <optional>

namespace mlir::stablehlo {

/// Whether an integer type has no negative numbers. Booleans have none.
bool isUnsignedType(Type type);

/// Whether numbers of a type are computed with as they are: f16, bf16, f32 and
/// f64. Narrower ones are computed with in a wider type, which one is up to the
/// compiler, and some have neither zero nor infinity nor NaN.
bool hasOwnArithmetic(Type type);

/// Whether a number of a type with arithmetic of its own may be taken for zero.
bool isFlushable(const APFloat &number);

std::optional<APInt> evaluateInteger(Operation *op, const APInt &x);
std::optional<APInt> evaluateIntegers(Operation *op, const APInt &a,
                                      const APInt &b, bool isUnsigned);
std::optional<APFloat> evaluateFloat(Operation *op, const APFloat &x);
std::optional<APFloat> evaluateFloats(Operation *op, const APFloat &a,
                                      const APFloat &b);
/// The distance to the origin.
std::optional<APFloat> evaluateAbs(const std::complex<APFloat> &z);
std::optional<APFloat> evaluateErf(const APFloat &x);

/// The number of `type` next to another, to even; nothing where `type` has none
/// of that size.
std::optional<APFloat> convertToFloat(const APInt &number, bool isUnsigned,
                                      FloatType type);
std::optional<APFloat> convertToFloat(const APFloat &number, FloatType type);
/// The integer next to a number towards zero; nothing if it is out of range.
/// For booleans: whether the number is not zero.
std::optional<APInt> convertToInteger(const APInt &number, bool isUnsigned,
                                      IntegerType type);
std::optional<APInt> convertToInteger(const APFloat &number, IntegerType type);

} // namespace mlir::stablehlo

#endif
