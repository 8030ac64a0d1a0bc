//===- ElementArithmetic.cpp - Ops on single numbers ----------------------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

#include "meshwright/Dialect/StableHLO/Elementwise/ElementArithmetic.h"
#include "meshwright/Dialect/StableHLO/StablehloDialect.h"
#include "llvm/ADT/APSInt.h"
#include <cmath>

using namespace mlir;
using namespace mlir::stablehlo;

using IntResult = std::optional<APInt>;
using FloatResult = std::optional<APFloat>;

bool stablehlo::isUnsignedType(Type type) {
  return type.isUnsignedInteger() || type.isInteger(1);
}

bool stablehlo::hasOwnArithmetic(Type type) {
  return isa<Float16Type, BFloat16Type, Float32Type, Float64Type>(type);
}

bool stablehlo::isFlushable(const APFloat &number) {
  return number.isDenormal();
}

//===----------------------------------------------------------------------===//
// Integers
//===----------------------------------------------------------------------===//

IntResult stablehlo::evaluateInteger(Operation *op, const APInt &x) {
  if (isa<AbsOp>(op))
    return x.abs();
  if (isa<NegateOp>(op))
    return -x;
  if (isa<NotOp>(op))
    return ~x;
  if (isa<SignOp>(op))
    return APInt(x.getBitWidth(),
                 x.isZero()       ? 0
                 : x.isNegative() ? -1
                                  : 1,
                 /*isSigned=*/true, /*implicitTrunc=*/true);
  return std::nullopt;
}

IntResult stablehlo::evaluateIntegers(Operation *op, const APInt &a,
                                      const APInt &b, bool isUnsigned) {
  bool isBoolean = a.getBitWidth() == 1, overflow;
  if (isa<AddOp>(op)) {
    // On booleans a disjunction, but XLA's own folding takes the lowest bit.
    if (isBoolean && !a.isZero() && !b.isZero())
      return std::nullopt;
    return a + b;
  }
  if (isa<SubtractOp>(op))
    return a - b;
  if (isa<MultiplyOp>(op))
    return a * b;
  if (isa<AndOp>(op))
    return a & b;
  if (isa<OrOp>(op))
    return a | b;
  if (isa<XorOp>(op))
    return a ^ b;
  if (isa<MaximumOp>(op))
    return isUnsigned ? llvm::APIntOps::umax(a, b) : llvm::APIntOps::smax(a, b);
  if (isa<MinimumOp>(op))
    return isUnsigned ? llvm::APIntOps::umin(a, b) : llvm::APIntOps::smin(a, b);
  if (b.isZero())
    return std::nullopt;
  if (isa<DivideOp>(op))
    return isUnsigned ? a.udiv(b) : a.sdiv_ov(b, overflow);
  if (isa<RemainderOp>(op))
    return isUnsigned ? a.urem(b) : a.srem(b);
  return std::nullopt;
}

//===----------------------------------------------------------------------===//
// Floats
//===----------------------------------------------------------------------===//

/// Drops a result that may be taken for zero.
static FloatResult unlessFlushable(APFloat number) {
  if (isFlushable(number))
    return std::nullopt;
  return number;
}

/// Rounds to a format that holds all sizes which `number` may have.
static APFloat roundTo(const llvm::fltSemantics &format, APFloat number) {
  bool losesInfo;
  number.convert(format, APFloat::rmNearestTiesToEven, &losesInfo);
  return number;
}

static double toDouble(const APFloat &number) {
  return roundTo(APFloat::IEEEdouble(), number).convertToDouble();
}

/// Applies a function of doubles in the precision of `x`.
static FloatResult viaDouble(const APFloat &x, double (*function)(double)) {
  double result = function(toDouble(x));
  if (std::isnan(result) && !x.isNaN())
    return std::nullopt; // Outside the domain.
  return roundTo(x.getSemantics(), APFloat(result));
}

static APFloat roundToIntegral(APFloat x, APFloat::roundingMode mode) {
  x.roundToIntegral(mode);
  return x;
}

/// Small results keep their digits on both sides.
static double logistic(double x) {
  double decay = std::exp(-std::abs(x));
  return x < 0 ? decay / (1.0 + decay) : 1.0 / (1.0 + decay);
}

static FloatResult evaluateNormal(Operation *op, const APFloat &x) {
  if (isa<AbsOp>(op))
    return llvm::abs(x);
  if (isa<NegateOp>(op))
    return llvm::neg(x);
  if (isa<SignOp>(op))
    return x.isNaN() || x.isZero()
               ? x
               : APFloat::getOne(x.getSemantics(), x.isNegative());
  if (isa<RoundNearestEvenOp>(op))
    return roundToIntegral(x, APFloat::rmNearestTiesToEven);
  if (isa<RoundNearestAfzOp>(op))
    return roundToIntegral(x, APFloat::rmNearestTiesToAway);
  if (isa<SqrtOp>(op))
    return viaDouble(x, std::sqrt);
  if (isa<RsqrtOp>(op))
    return x.isZero()
               ? std::nullopt
               : viaDouble(x, [](double v) { return 1.0 / std::sqrt(v); });
  if (isa<LogOp>(op))
    return x.isZero() ? std::nullopt : viaDouble(x, std::log);
  if (isa<ExponentialOp>(op))
    return viaDouble(x, std::exp);
  if (isa<LogisticOp>(op))
    return viaDouble(x, logistic);
  if (isa<SineOp>(op))
    return viaDouble(x, std::sin);
  if (isa<CosineOp>(op))
    return viaDouble(x, std::cos);
  if (isa<TanOp>(op))
    return viaDouble(x, std::tan);
  if (isa<TanhOp>(op))
    return viaDouble(x, std::tanh);
  return std::nullopt;
}

FloatResult stablehlo::evaluateFloat(Operation *op, const APFloat &x) {
  if (isFlushable(x))
    return std::nullopt;
  FloatResult result = evaluateNormal(op, x);
  return result ? unlessFlushable(*result) : std::nullopt;
}

static FloatResult evaluateNormals(Operation *op, const APFloat &a,
                                   const APFloat &b) {
  if (isa<AddOp>(op))
    return a + b;
  if (isa<SubtractOp>(op))
    return a - b;
  if (isa<MultiplyOp>(op))
    return a * b;
  if (isa<DivideOp>(op))
    return a / b;
  if (isa<MaximumOp>(op))
    return llvm::maximum(a, b);
  if (isa<MinimumOp>(op))
    return llvm::minimum(a, b);
  if (isa<RemainderOp>(op)) {
    APFloat remainder = a;
    remainder.mod(b);
    return remainder;
  }
  return std::nullopt;
}

FloatResult stablehlo::evaluateFloats(Operation *op, const APFloat &a,
                                      const APFloat &b) {
  if (isFlushable(a) || isFlushable(b))
    return std::nullopt;
  FloatResult result = evaluateNormals(op, a, b);
  return result ? unlessFlushable(*result) : std::nullopt;
}

FloatResult stablehlo::evaluateAbs(const std::complex<APFloat> &z) {
  const APFloat &re = z.real(), &im = z.imag();
  if (!re.isFinite() || !im.isFinite() || isFlushable(re) || isFlushable(im))
    return std::nullopt;
  double length = std::hypot(toDouble(re), toDouble(im));
  return unlessFlushable(roundTo(re.getSemantics(), APFloat(length)));
}

FloatResult stablehlo::evaluateErf(const APFloat &x) {
  if (isFlushable(x))
    return std::nullopt;
  FloatResult result = viaDouble(x, std::erf);
  return result ? unlessFlushable(*result) : std::nullopt;
}

//===----------------------------------------------------------------------===//
// Conversions
//===----------------------------------------------------------------------===//

FloatResult stablehlo::convertToFloat(const APInt &number, bool isUnsigned,
                                      FloatType type) {
  if (!hasOwnArithmetic(type)) {
    APFloat wide(APFloat::IEEEdouble());
    wide.convertFromAPInt(number, !isUnsigned, APFloat::rmNearestTiesToEven);
    return convertToFloat(wide, type);
  }
  APFloat result(type.getFloatSemantics());
  result.convertFromAPInt(number, !isUnsigned, APFloat::rmNearestTiesToEven);
  return result;
}

/// Whether a format can round a number without infinity, NaN, or a zero or sign
/// that it may not have.
static bool isInRange(const APFloat &number, const llvm::fltSemantics &format) {
  return number.isFinite() && APFloat::semanticsHasZero(format) &&
         APFloat::semanticsHasSignedRepr(format) &&
         std::abs(toDouble(number)) <= toDouble(APFloat::getLargest(format));
}

FloatResult stablehlo::convertToFloat(const APFloat &number, FloatType type) {
  const llvm::fltSemantics &format = type.getFloatSemantics();
  // Numbers of f16 and wider are read by the processor, and written by it.
  if (APFloat::getSizeInBits(number.getSemantics()) >= 16 &&
      isFlushable(number))
    return std::nullopt;
  if (hasOwnArithmetic(type))
    return unlessFlushable(roundTo(format, number));
  if (!isInRange(number, format))
    return std::nullopt;
  return roundTo(format, number);
}

IntResult stablehlo::convertToInteger(const APInt &number, bool isUnsigned,
                                      IntegerType type) {
  unsigned width = type.getWidth();
  if (width == 1)
    return APInt(1, !number.isZero());
  return isUnsigned ? number.zextOrTrunc(width) : number.sextOrTrunc(width);
}

IntResult stablehlo::convertToInteger(const APFloat &number, IntegerType type) {
  unsigned width = type.getWidth();
  if (isFlushable(number))
    return std::nullopt;
  if (width == 1)
    return APInt(1, !number.isZero());
  if (!number.isFinite())
    return std::nullopt;
  llvm::APSInt result(width, type.isUnsigned());
  bool exact;
  if (number.convertToInteger(result, APFloat::rmTowardZero, &exact) ==
      APFloat::opInvalidOp)
    return std::nullopt;
  return result;
}
