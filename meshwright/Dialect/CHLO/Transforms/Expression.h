//===- Expression.h - Elementwise StableHLO written as formulas -*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// Lets special functions be written the way they are read:
//
//   Expr y = log1p(x * x) * 0.5;
//
// Numbers become splat constants of the shape and type of the other operand.
//
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_DIALECT_CHLO_TRANSFORMS_EXPRESSION_H
#define MESHWRIGHT_DIALECT_CHLO_TRANSFORMS_EXPRESSION_H

#include "meshwright/Dialect/StableHLO/StablehloDialect.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"

namespace mlir::chlo {

/// A tensor value and the builder that extends it. Cheap to copy; the builder
/// must outlive it.
class Expr {
public:
  Expr(Value value, ImplicitLocOpBuilder &builder)
      : value(value), builder(&builder) {}

  Value getValue() const { return value; }
  ImplicitLocOpBuilder &getBuilder() const { return *builder; }
  RankedTensorType getType() const {
    return cast<RankedTensorType>(value.getType());
  }
  Type getElementType() const { return getType().getElementType(); }

  /// A splat of this shape and element type.
  Expr splat(double number) const;
  /// A splat of the largest finite number, infinity, NaN of the float type.
  Expr splatLargest() const;
  Expr splatInfinity() const;
  Expr splatNaN() const;

  /// Converts the elements.
  Expr as(Type elementType) const;

private:
  Value value;
  ImplicitLocOpBuilder *builder;
};

// Arithmetic.
Expr operator+(Expr a, Expr b);
Expr operator-(Expr a, Expr b);
Expr operator*(Expr a, Expr b);
Expr operator/(Expr a, Expr b);
Expr operator-(Expr a);
inline Expr operator+(Expr a, double b) { return a + a.splat(b); }
inline Expr operator+(double a, Expr b) { return b.splat(a) + b; }
inline Expr operator-(Expr a, double b) { return a - a.splat(b); }
inline Expr operator-(double a, Expr b) { return b.splat(a) - b; }
inline Expr operator*(Expr a, double b) { return a * a.splat(b); }
inline Expr operator*(double a, Expr b) { return b.splat(a) * b; }
inline Expr operator/(Expr a, double b) { return a / a.splat(b); }
inline Expr operator/(double a, Expr b) { return b.splat(a) / b; }
Expr minimum(Expr a, Expr b);
Expr maximum(Expr a, Expr b);

// Functions that StableHLO has.
Expr abs(Expr x);
Expr atan2(Expr y, Expr x);
Expr cosine(Expr x);
Expr exp(Expr x);
Expr expm1(Expr x);
Expr floor(Expr x);
Expr log(Expr x);
Expr log1p(Expr x);
Expr power(Expr base, Expr exponent);
Expr sign(Expr x);
Expr sine(Expr x);
Expr sqrt(Expr x);
Expr tangent(Expr x);
Expr real(Expr z);
Expr imag(Expr z);
Expr complex(Expr re, Expr im);

// Comparisons give tensors of i1.
Expr operator<(Expr a, Expr b);
Expr operator<=(Expr a, Expr b);
Expr equal(Expr a, Expr b);
Expr notEqual(Expr a, Expr b);
inline Expr operator<(Expr a, double b) { return a < a.splat(b); }
inline Expr operator<=(Expr a, double b) { return a <= a.splat(b); }
inline Expr operator<(double a, Expr b) { return b.splat(a) < b; }
inline Expr operator<=(double a, Expr b) { return b.splat(a) <= b; }
inline Expr equal(Expr a, double b) { return equal(a, a.splat(b)); }
Expr operator&(Expr a, Expr b);
Expr operator|(Expr a, Expr b);
Expr select(Expr condition, Expr ifTrue, Expr ifFalse);

/// Horner's rule, highest power first.
Expr polynomial(Expr x, ArrayRef<double> coefficients);
/// Clenshaw's rule for c0/2 + c1 T1(x) + c2 T2(x) + ..., x in [-1, 1].
Expr chebyshev(Expr x, ArrayRef<double> coefficients);

} // namespace mlir::chlo

#endif
