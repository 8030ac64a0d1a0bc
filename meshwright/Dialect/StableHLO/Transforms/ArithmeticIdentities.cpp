//===- ArithmeticIdentities.cpp - Results known without computing ---------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

#include "meshwright/Dialect/StableHLO/Transforms/OptimizationPatterns.h"

using namespace mlir;
using namespace mlir::stablehlo;

static bool isInteger(Value value) {
  return isa<IntegerType>(getElementTypeOrSelf(value));
}

static bool isBoolean(Value value) {
  return getElementTypeOrSelf(value).isInteger(1);
}

/// Replaces `op` by an operand if the types agree; dynamic dimensions may make
/// the result more precise than the operand.
static LogicalResult forward(Operation *op, Value value,
                             PatternRewriter &rewriter) {
  if (op->getResult(0).getType() != value.getType())
    return failure();
  replaceKeepingAttrs(rewriter, op, value);
  return success();
}

/// Replaces `op` by a constant of which all elements are `value`.
static LogicalResult replaceBySplat(Operation *op, int64_t value,
                                    PatternRewriter &rewriter) {
  auto type = dyn_cast<RankedTensorType>(op->getResult(0).getType());
  if (!type || !type.hasStaticShape())
    return failure();
  unsigned width = type.getElementTypeBitWidth();
  replaceByConstant(
      rewriter, op,
      DenseElementsAttr::get(type, APInt(width, value, /*isSigned=*/true,
                                         /*implicitTrunc=*/true)));
  return success();
}

namespace {
//===----------------------------------------------------------------------===//
// Sums and products, of floats only if those may be simplified
//===----------------------------------------------------------------------===//

template <typename OpT> struct FloatAwareRewrite : OpRewritePattern<OpT> {
  FloatAwareRewrite(MLIRContext *context, bool optimizeFloat)
      : OpRewritePattern<OpT>(context), optimizeFloat(optimizeFloat) {}

  /// Two constants are left to folding, which heeds the sign of a zero.
  bool mayRewrite(Operation *op) const {
    return isInteger(op->getResult(0)) ||
           (optimizeFloat && !getConstant(op->getOperand(0)));
  }

private:
  bool optimizeFloat;
};

// Pattern: x + 0 -> x
struct AddZero : FloatAwareRewrite<AddOp> {
  using FloatAwareRewrite::FloatAwareRewrite;
  LogicalResult matchAndRewrite(AddOp op,
                                PatternRewriter &rewriter) const override {
    if (!mayRewrite(op) || !isConstantZero(op.getRhs()))
      return failure();
    return forward(op, op.getLhs(), rewriter);
  }
};

// Pattern: x - 0 -> x
// Pattern: x - x -> 0, of integers
struct SubtractTrivially : FloatAwareRewrite<SubtractOp> {
  using FloatAwareRewrite::FloatAwareRewrite;
  LogicalResult matchAndRewrite(SubtractOp op,
                                PatternRewriter &rewriter) const override {
    if (op.getLhs() == op.getRhs() && isInteger(op.getLhs()))
      return replaceBySplat(op, 0, rewriter);
    if (!mayRewrite(op) || !isConstantZero(op.getRhs()))
      return failure();
    return forward(op, op.getLhs(), rewriter);
  }
};

// Pattern: x * 1 -> x
// Pattern: x * 0 -> 0, of integers
struct MultiplyTrivially : FloatAwareRewrite<MultiplyOp> {
  using FloatAwareRewrite::FloatAwareRewrite;
  LogicalResult matchAndRewrite(MultiplyOp op,
                                PatternRewriter &rewriter) const override {
    if (isInteger(op.getRhs()) && isConstantZero(op.getRhs()))
      return forward(op, op.getRhs(), rewriter);
    if (!mayRewrite(op) || !isConstantOne(op.getRhs()))
      return failure();
    return forward(op, op.getLhs(), rewriter);
  }
};
} // namespace

//===----------------------------------------------------------------------===//
// Bits
//===----------------------------------------------------------------------===//

// Pattern: x & 0 -> 0
// Pattern: x & 11..1 -> x
static LogicalResult simplifyAnd(AndOp op, PatternRewriter &rewriter) {
  if (isConstantZero(op.getRhs()))
    return forward(op, op.getRhs(), rewriter);
  if (isConstantAllOnes(op.getRhs()))
    return forward(op, op.getLhs(), rewriter);
  return failure();
}

// Pattern: x | 0 -> x
// Pattern: x | 11..1 -> 11..1
static LogicalResult simplifyOr(OrOp op, PatternRewriter &rewriter) {
  if (isConstantZero(op.getRhs()))
    return forward(op, op.getLhs(), rewriter);
  if (isConstantAllOnes(op.getRhs()))
    return forward(op, op.getRhs(), rewriter);
  return failure();
}

// Pattern: x ^ 0 -> x
// Pattern: x ^ x -> 0
static LogicalResult simplifyXor(XorOp op, PatternRewriter &rewriter) {
  if (isConstantZero(op.getRhs()))
    return forward(op, op.getLhs(), rewriter);
  if (op.getLhs() == op.getRhs() && isInteger(op.getLhs()))
    return replaceBySplat(op, 0, rewriter);
  return failure();
}

//===----------------------------------------------------------------------===//
// Comparison and choice
//===----------------------------------------------------------------------===//

// Pattern: x == true, x != false -> x, of booleans
// Pattern: x <= x -> true, x < x -> false, of integers
static LogicalResult simplifyCompare(CompareOp op, PatternRewriter &rewriter) {
  using Direction = ComparisonDirection;
  if (!isInteger(op.getLhs()))
    return failure();
  Direction direction = op.getComparisonDirection();
  if (isBoolean(op.getLhs()) &&
      ((direction == Direction::NE && isConstantZero(op.getRhs())) ||
       (direction == Direction::EQ && isConstantOne(op.getRhs()))))
    return forward(op, op.getLhs(), rewriter);
  if (op.getLhs() != op.getRhs())
    return failure();
  return replaceBySplat(op,
                        direction == Direction::EQ ||
                            direction == Direction::LE ||
                            direction == Direction::GE,
                        rewriter);
}

// Pattern: select(true, x, y) -> x, select(false, x, y) -> y
// Pattern: select(p, x, x) -> x
// Pattern: select(not p, x, y) -> select(p, y, x)
static LogicalResult simplifySelect(SelectOp op, PatternRewriter &rewriter) {
  if (op.getOnTrue() == op.getOnFalse() || isConstantOne(op.getPred()))
    return forward(op, op.getOnTrue(), rewriter);
  if (isConstantZero(op.getPred()))
    return forward(op, op.getOnFalse(), rewriter);
  auto negated = op.getPred().getDefiningOp<NotOp>();
  if (!negated || negated.getOperand().getType() != op.getPred().getType())
    return failure();
  rewriter.modifyOpInPlace(op, [&] {
    op->setOperands({negated.getOperand(), op.getOnFalse(), op.getOnTrue()});
  });
  return success();
}

//===----------------------------------------------------------------------===//
// Taking apart and putting together
//===----------------------------------------------------------------------===//

// Pattern: real(complex(x, y)) -> x
static LogicalResult simplifyReal(RealOp op, PatternRewriter &rewriter) {
  auto complex = op.getOperand().getDefiningOp<ComplexOp>();
  return complex ? forward(op, complex.getLhs(), rewriter) : failure();
}

// Pattern: imag(complex(x, y)) -> y
static LogicalResult simplifyImag(ImagOp op, PatternRewriter &rewriter) {
  auto complex = op.getOperand().getDefiningOp<ComplexOp>();
  return complex ? forward(op, complex.getRhs(), rewriter) : failure();
}

// Pattern: complex(real(x), imag(x)) -> x
static LogicalResult simplifyComplex(ComplexOp op, PatternRewriter &rewriter) {
  auto real = op.getLhs().getDefiningOp<RealOp>();
  auto imag = op.getRhs().getDefiningOp<ImagOp>();
  if (!real || !imag || real.getOperand() != imag.getOperand())
    return failure();
  return forward(op, real.getOperand(), rewriter);
}

// Pattern: get_tuple_element(tuple(x, y), 1) -> y
static LogicalResult simplifyTupleElement(GetTupleElementOp op,
                                          PatternRewriter &rewriter) {
  auto tuple = op.getOperand().getDefiningOp<TupleOp>();
  return tuple ? forward(op, tuple->getOperand(op.getIndex()), rewriter)
               : failure();
}

// Pattern: tuple(get_tuple_element(x, 0), get_tuple_element(x, 1)) -> x
static LogicalResult simplifyTuple(TupleOp op, PatternRewriter &rewriter) {
  Value whole;
  for (auto [i, part] : llvm::enumerate(op->getOperands())) {
    auto element = part.getDefiningOp<GetTupleElementOp>();
    if (!element || static_cast<size_t>(element.getIndex()) != i ||
        (whole && element.getOperand() != whole))
      return failure();
    whole = element.getOperand();
  }
  return whole ? forward(op, whole, rewriter) : failure();
}

void mlir::stablehlo::populateArithmeticIdentities(
    RewritePatternSet &patterns, const OptimizationOptions &options) {
  patterns.add<AddZero, SubtractTrivially, MultiplyTrivially>(
      patterns.getContext(), options.optimizeFloat);
  patterns.add(simplifyAnd);
  patterns.add(simplifyOr);
  patterns.add(simplifyXor);
  patterns.add(simplifyCompare);
  patterns.add(simplifySelect);
  patterns.add(simplifyReal);
  patterns.add(simplifyImag);
  patterns.add(simplifyComplex);
  patterns.add(simplifyTupleElement);
  patterns.add(simplifyTuple);
}
