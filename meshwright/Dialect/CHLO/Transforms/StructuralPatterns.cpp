//===- StructuralPatterns.cpp - Bits, constants, top_k --------------------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

#include "meshwright/Dialect/CHLO/Transforms/Expression.h"
#include "meshwright/Dialect/CHLO/Transforms/LegalizePatterns.h"
#include "meshwright/Dialect/StableHLO/Elementwise/ElementArithmetic.h"

using namespace mlir;
using namespace mlir::chlo;

static RankedTensorType getStaticType(Value value) {
  auto type = dyn_cast<RankedTensorType>(value.getType());
  return type && type.hasStaticShape() ? type : RankedTensorType();
}

/// The static type of all operands and the result, null if they have none.
static RankedTensorType getCommonStaticType(Operation *op) {
  RankedTensorType type = getStaticType(op->getResult(0));
  auto isCommon = [&](Type operand) { return operand == type; };
  return llvm::all_of(op->getOperandTypes(), isCommon) ? type
                                                       : RankedTensorType();
}

static LogicalResult legalizeConstant(ConstantOp op,
                                      PatternRewriter &rewriter) {
  rewriter.replaceOpWithNewOp<stablehlo::ConstantOp>(op, op.getValue());
  return success();
}

static LogicalResult legalizeConstantLike(ConstantLikeOp op,
                                          PatternRewriter &rewriter) {
  RankedTensorType type = getStaticType(op.getResult());
  if (!type)
    return rewriter.notifyMatchFailure(op, "dynamic shape");
  DenseElementsAttr splat = getSplat(type, op.getValue());
  if (!splat)
    return rewriter.notifyMatchFailure(op, "value of another kind");
  rewriter.replaceOpWithNewOp<stablehlo::ConstantOp>(op, splat);
  return success();
}

template <typename OpTy> static Expr shift(Expr x, Expr by) {
  return {
      OpTy::create(x.getBuilder(), x.getType(), x.getValue(), by.getValue()),
      x.getBuilder()};
}

static Expr shiftRight(Expr x, unsigned by, bool isUnsigned) {
  Expr count = x.splat(by);
  return isUnsigned ? shift<stablehlo::ShiftRightLogicalOp>(x, count)
                    : shift<stablehlo::ShiftRightArithmeticOp>(x, count);
}

static Expr viaWiderType(Expr lhs, Expr rhs, IntegerType element) {
  unsigned width = element.getWidth();
  auto wide = IntegerType::get(element.getContext(), width * 2,
                               element.getSignedness());
  Expr product = lhs.as(wide) * rhs.as(wide);
  return shiftRight(product, width, element.isUnsigned()).as(element);
}

static Expr viaHalves(Expr lhs, Expr rhs, bool isUnsigned) {
  Expr mask = lhs.splat(0xFFFFFFFF);
  auto low = [&](Expr x) { return x & mask; };
  auto high = [&](Expr x) { return shiftRight(x, 32, isUnsigned); };
  auto lowHalf = [&](Expr x) {
    return shift<stablehlo::ShiftRightLogicalOp>(x, x.splat(32));
  };
  Expr a0 = low(lhs), a1 = high(lhs), b0 = low(rhs), b1 = high(rhs);
  // Each partial sum fits: (2^32 - 1)^2 + 2 (2^32 - 1) < 2^64.
  Expr middle = a1 * b0 + lowHalf(a0 * b0);
  Expr cross = a0 * b1 + low(middle);
  return a1 * b1 + high(middle) + high(cross);
}

/// The upper half of a product: computed in twice the width where there is
/// one, from four products of halves for 64 bits.
static LogicalResult legalizeMulhi(MulhiOp op, PatternRewriter &rewriter) {
  RankedTensorType type = getCommonStaticType(op);
  if (!type)
    return rewriter.notifyMatchFailure(op, "dynamic shape");
  auto element = cast<IntegerType>(type.getElementType());
  ImplicitLocOpBuilder builder(op.getLoc(), rewriter);
  Expr lhs(op.getLhs(), builder), rhs(op.getRhs(), builder);
  Expr result = element.getWidth() < 64
                    ? viaWiderType(lhs, rhs, element)
                    : viaHalves(lhs, rhs, element.isUnsigned());
  rewriter.replaceOp(op, result.getValue());
  return success();
}

/// The next number towards y: one step of the bits seen as an integer, away
/// from zero if y lies that way.
static LogicalResult legalizeNextAfter(NextAfterOp op,
                                       PatternRewriter &rewriter) {
  RankedTensorType type = getCommonStaticType(op);
  if (!type)
    return rewriter.notifyMatchFailure(op, "dynamic shape");
  // In narrower formats the bits of zero, infinity and NaN are others.
  if (!stablehlo::hasOwnArithmetic(type.getElementType()))
    return rewriter.notifyMatchFailure(op, "needs an IEEE 754 format");
  unsigned width = type.getElementTypeBitWidth();
  ImplicitLocOpBuilder builder(op.getLoc(), rewriter);
  auto bits = type.clone(rewriter.getIntegerType(width));
  auto cast = [&](Expr x, RankedTensorType to) {
    return Expr(stablehlo::BitcastConvertOp::create(builder, to, x.getValue()),
                builder);
  };
  Expr x(op.getX(), builder), y(op.getY(), builder);
  Expr xBits = cast(x, bits), yBits = cast(y, bits);
  auto constant = [&](const APInt &value) {
    return Expr(stablehlo::ConstantOp::create(
                    builder, DenseElementsAttr::get(bits, value)),
                builder);
  };
  Expr signMask = constant(APInt::getSignMask(width));
  Expr magnitudeMask = constant(APInt::getSignedMaxValue(width));
  Expr one = constant(APInt(width, 1));
  Expr xMagnitude = xBits & magnitudeMask;
  Expr yMagnitude = yBits & magnitudeMask;
  Expr ySign = yBits & signMask;
  Expr differentSigns = notEqual(xBits & signMask, ySign);
  Expr towardsZero = (yMagnitude < xMagnitude) | differentSigns;
  Expr step = select(towardsZero, -one, one);
  Expr fromZero = ySign | one;
  Expr zero = constant(APInt(width, 0));
  Expr moved = select(equal(xMagnitude, zero), fromZero, xBits + step);
  Expr result = select(equal(x, y), yBits, moved);
  Expr number = cast(result, type);
  Expr isNaN = notEqual(x, x) | notEqual(y, y);
  rewriter.replaceOp(op, select(isNaN, x + y, number).getValue());
  return success();
}

static void buildComparator(Region &region, Type element,
                            ImplicitLocOpBuilder &builder) {
  OpBuilder::InsertionGuard guard(builder);
  auto value = RankedTensorType::get({}, element);
  auto position = RankedTensorType::get({}, builder.getI32Type());
  Location loc = builder.getLoc();
  Block *block = builder.createBlock(&region, region.end(),
                                     {value, value, position, position},
                                     {loc, loc, loc, loc});
  auto kind = isa<FloatType>(element) ? stablehlo::ComparisonType::TOTALORDER
              : element.isUnsignedInteger() || element.isInteger(1)
                  ? stablehlo::ComparisonType::UNSIGNED
                  : stablehlo::ComparisonType::SIGNED;
  MLIRContext *context = builder.getContext();
  Value isGreater = stablehlo::CompareOp::create(
      builder, RankedTensorType::get({}, builder.getI1Type()),
      block->getArgument(0), block->getArgument(1),
      stablehlo::ComparisonDirectionAttr::get(
          context, stablehlo::ComparisonDirection::GT),
      stablehlo::ComparisonTypeAttr::get(context, kind));
  stablehlo::ReturnOp::create(builder, isGreater);
}

/// A stable sort of values with their positions, of which the first k stay.
static LogicalResult legalizeTopK(TopKOp op, PatternRewriter &rewriter) {
  RankedTensorType type = getStaticType(op.getOperand());
  if (!type)
    return rewriter.notifyMatchFailure(op, "dynamic shape");
  Type element = type.getElementType();
  if (!element.isIntOrFloat())
    return rewriter.notifyMatchFailure(op, "needs real numbers");
  ImplicitLocOpBuilder builder(op.getLoc(), rewriter);
  int64_t last = type.getRank() - 1;
  auto positions = type.clone(rewriter.getI32Type());
  Value iota = stablehlo::IotaOp::create(builder, positions, last);
  auto sort = stablehlo::SortOp::create(builder, TypeRange{type, positions},
                                        ValueRange{op.getOperand(), iota}, last,
                                        /*is_stable=*/true);
  buildComparator(sort.getComparator(), element, builder);

  SmallVector<int64_t> start(type.getRank(), 0), stride(type.getRank(), 1);
  SmallVector<int64_t> limit(type.getShape());
  limit.back() = op.getK();
  SmallVector<Value> results;
  for (auto [sorted, result] :
       llvm::zip_equal(sort.getResults(), op.getResults()))
    results.push_back(stablehlo::SliceOp::create(builder, result.getType(),
                                                 sorted, start, limit, stride));
  rewriter.replaceOp(op, results);
  return success();
}
void mlir::chlo::populateStructuralPatterns(RewritePatternSet &patterns) {
  patterns.add(legalizeConstant);
  patterns.add(legalizeConstantLike);
  patterns.add(legalizeMulhi);
  patterns.add(legalizeNextAfter);
  patterns.add(legalizeTopK);
}
