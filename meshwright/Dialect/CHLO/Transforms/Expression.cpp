//===- Expression.cpp - Elementwise StableHLO written as formulas ---------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

#include "meshwright/Dialect/CHLO/Transforms/Expression.h"

using namespace mlir;
using namespace mlir::chlo;
using Direction = stablehlo::ComparisonDirection;

static Expr splatOf(const Expr &like, Attribute element) {
  auto value = DenseElementsAttr::get(like.getType(), element);
  return {stablehlo::ConstantOp::create(like.getBuilder(), value),
          like.getBuilder()};
}

static Expr splatOf(const Expr &like, const APFloat &number) {
  return splatOf(like, FloatAttr::get(like.getElementType(), number));
}

static const llvm::fltSemantics &semanticsOf(const Expr &like) {
  return cast<FloatType>(like.getElementType()).getFloatSemantics();
}

Expr Expr::splat(double number) const {
  if (isa<IntegerType>(getElementType()))
    return splatOf(*this, IntegerAttr::get(getElementType(),
                                           static_cast<int64_t>(number)));
  return splatOf(*this, FloatAttr::get(getElementType(), number));
}

Expr Expr::splatLargest() const {
  return splatOf(*this, APFloat::getLargest(semanticsOf(*this)));
}

Expr Expr::splatInfinity() const {
  return splatOf(*this, APFloat::getInf(semanticsOf(*this)));
}

Expr Expr::splatNaN() const {
  return splatOf(*this, APFloat::getNaN(semanticsOf(*this)));
}

Expr Expr::as(Type elementType) const {
  if (elementType == getElementType())
    return *this;
  return {stablehlo::ConvertOp::create(*builder, getType().clone(elementType),
                                       value),
          *builder};
}

/// An op whose result has the type of its first operand.
template <typename OpTy, typename... Operands>
static Expr build(Expr first, Operands... rest) {
  return {OpTy::create(first.getBuilder(), first.getType(), first.getValue(),
                       rest.getValue()...),
          first.getBuilder()};
}

template <typename OpTy> static Expr buildPart(Expr z) {
  auto element = cast<ComplexType>(z.getElementType()).getElementType();
  return {
      OpTy::create(z.getBuilder(), z.getType().clone(element), z.getValue()),
      z.getBuilder()};
}

static Expr compare(Expr a, Expr b, Direction direction) {
  ImplicitLocOpBuilder &builder = a.getBuilder();
  return {stablehlo::CompareOp::create(builder,
                                       a.getType().clone(builder.getI1Type()),
                                       a.getValue(), b.getValue(),
                                       stablehlo::ComparisonDirectionAttr::get(
                                           builder.getContext(), direction),
                                       stablehlo::ComparisonTypeAttr()),
          builder};
}

namespace mlir::chlo {

Expr operator+(Expr a, Expr b) { return build<stablehlo::AddOp>(a, b); }
Expr operator-(Expr a, Expr b) { return build<stablehlo::SubtractOp>(a, b); }
Expr operator*(Expr a, Expr b) { return build<stablehlo::MultiplyOp>(a, b); }
Expr operator/(Expr a, Expr b) { return build<stablehlo::DivideOp>(a, b); }
Expr operator-(Expr a) { return build<stablehlo::NegateOp>(a); }
Expr minimum(Expr a, Expr b) { return build<stablehlo::MinimumOp>(a, b); }
Expr maximum(Expr a, Expr b) { return build<stablehlo::MaximumOp>(a, b); }

Expr abs(Expr x) { return build<stablehlo::AbsOp>(x); }
Expr atan2(Expr y, Expr x) { return build<stablehlo::Atan2Op>(y, x); }
Expr cosine(Expr x) { return build<stablehlo::CosineOp>(x); }
Expr exp(Expr x) { return build<stablehlo::ExponentialOp>(x); }
Expr expm1(Expr x) { return build<stablehlo::ExponentialMinusOneOp>(x); }
Expr floor(Expr x) { return build<stablehlo::FloorOp>(x); }
Expr log(Expr x) { return build<stablehlo::LogOp>(x); }
Expr log1p(Expr x) { return build<stablehlo::LogPlusOneOp>(x); }
Expr power(Expr base, Expr exponent) {
  return build<stablehlo::PowerOp>(base, exponent);
}
Expr sign(Expr x) { return build<stablehlo::SignOp>(x); }
Expr sine(Expr x) { return build<stablehlo::SineOp>(x); }
Expr sqrt(Expr x) { return build<stablehlo::SqrtOp>(x); }
Expr tangent(Expr x) { return build<stablehlo::TanOp>(x); }
Expr real(Expr z) { return buildPart<stablehlo::RealOp>(z); }
Expr imag(Expr z) { return buildPart<stablehlo::ImagOp>(z); }
Expr complex(Expr re, Expr im) {
  auto type = re.getType().clone(ComplexType::get(re.getElementType()));
  return {stablehlo::ComplexOp::create(re.getBuilder(), type, re.getValue(),
                                       im.getValue()),
          re.getBuilder()};
}

Expr operator<(Expr a, Expr b) { return compare(a, b, Direction::LT); }
Expr operator<=(Expr a, Expr b) { return compare(a, b, Direction::LE); }
Expr equal(Expr a, Expr b) { return compare(a, b, Direction::EQ); }
Expr notEqual(Expr a, Expr b) { return compare(a, b, Direction::NE); }
Expr operator&(Expr a, Expr b) { return build<stablehlo::AndOp>(a, b); }
Expr operator|(Expr a, Expr b) { return build<stablehlo::OrOp>(a, b); }
Expr select(Expr condition, Expr ifTrue, Expr ifFalse) {
  return {stablehlo::SelectOp::create(ifTrue.getBuilder(), ifTrue.getType(),
                                      condition.getValue(), ifTrue.getValue(),
                                      ifFalse.getValue()),
          ifTrue.getBuilder()};
}

Expr polynomial(Expr x, ArrayRef<double> coefficients) {
  Expr sum = x.splat(coefficients.front());
  for (double coefficient : coefficients.drop_front())
    sum = sum * x + coefficient;
  return sum;
}

Expr chebyshev(Expr x, ArrayRef<double> coefficients) {
  Expr twice = x * 2.0;
  Expr next = x.splat(0), afterNext = x.splat(0);
  for (double coefficient : llvm::reverse(coefficients.drop_front())) {
    Expr current = twice * next - afterNext + coefficient;
    afterNext = next;
    next = current;
  }
  return x * next - afterNext + coefficients.front() / 2;
}

} // namespace mlir::chlo
