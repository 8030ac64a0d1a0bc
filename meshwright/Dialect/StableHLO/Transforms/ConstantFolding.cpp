//===- ConstantFolding.cpp - Arithmetic on constants ----------------------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// Ops whose operands are constants are evaluated, element by element, where the
// value is one that every compiler gives (ElementArithmetic.h); otherwise they
// are left for the compiler. What is evaluated is bounded in size, so that time
// and memory are that of the program's text, except for splats, which are one
// number whatever their size.
//
//===----------------------------------------------------------------------===//

#include "meshwright/Dialect/StableHLO/Transforms/ConstantFolding.h"
#include "meshwright/Dialect/CHLO/ChloDialect.h"
#include "meshwright/Dialect/StableHLO/Elementwise/ElementArithmetic.h"

using namespace mlir;
using namespace mlir::stablehlo;

using IntResult = std::optional<APInt>;
using FloatResult = std::optional<APFloat>;

SmallVector<DenseElementsAttr> stablehlo::getConstantOperands(Operation *op) {
  SmallVector<DenseElementsAttr> constants;
  auto type = dyn_cast<RankedTensorType>(op->getResult(0).getType());
  if (!type || !type.hasStaticShape() || llvm::is_contained(type.getShape(), 0))
    return {};
  for (Value operand : op->getOperands()) {
    DenseElementsAttr constant = getConstant(operand);
    if (!constant || constant.empty())
      return {};
    constants.push_back(constant);
  }
  return constants;
}

/// As many elements as a constant may have at most take a second or two.
static constexpr int64_t kBudget = 1 << 24;
static thread_local int64_t remainingElements = 0;

FoldingBudget::FoldingBudget() { remainingElements = kBudget; }
FoldingBudget::~FoldingBudget() { remainingElements = 0; }

bool stablehlo::isWithinLimit(RankedTensorType type,
                              ArrayRef<DenseElementsAttr> operands,
                              int64_t limit) {
  if (areSplats(operands))
    return true;
  std::optional<int64_t> count = countElements(type);
  if (!count || *count > limit || *count > remainingElements)
    return false;
  remainingElements -= *count;
  return true;
}

int64_t stablehlo::getEagerLimit(const OptimizationOptions &options) {
  return std::max(options.foldOpElementLimit,
                  OptimizationOptions().foldOpElementLimit);
}

/// The constants that `op` reads if all have the element type of its result.
static SmallVector<DenseElementsAttr> getOperandsOfOneType(Operation *op) {
  SmallVector<DenseElementsAttr> operands = getConstantOperands(op);
  for (DenseElementsAttr operand : operands)
    if (operand.getElementType() != getResultType(op).getElementType())
      return {};
  return operands;
}

namespace {
// Pattern: op(constants) -> constant, of arithmetic
template <typename OpT> struct FoldArithmetic : OpRewritePattern<OpT> {
  FoldArithmetic(MLIRContext *context, const OptimizationOptions &options)
      : OpRewritePattern<OpT>(context), options(options) {}

  LogicalResult matchAndRewrite(OpT op,
                                PatternRewriter &rewriter) const override {
    SmallVector<DenseElementsAttr> operands = getOperandsOfOneType(op);
    if (operands.empty())
      return failure();
    RankedTensorType type = getResultType(op);
    Type element = type.getElementType();
    if (!isa<IntegerType>(element) &&
        !(options.optimizeFloat && hasOwnArithmetic(element)))
      return failure();
    if (!isWithinLimit(type, operands,
                       operands.size() == 1 ? options.foldOpElementLimit
                                            : getEagerLimit(options)))
      return failure();
    DenseElementsAttr value;
    if (isa<IntegerType>(element))
      value = evaluate<APInt, APInt>(type, operands, [&](ArrayRef<APInt> x) {
        return x.size() == 1
                   ? evaluateInteger(op, x[0])
                   : evaluateIntegers(op, x[0], x[1], isUnsignedType(element));
      });
    else
      value =
          evaluate<APFloat, APFloat>(type, operands, [&](ArrayRef<APFloat> x) {
            return x.size() == 1 ? evaluateFloat(op, x[0])
                                 : evaluateFloats(op, x[0], x[1]);
          });
    if (!value)
      return failure();
    replaceByConstant(rewriter, op, value);
    return success();
  }

private:
  OptimizationOptions options;
};

/// What patterns that observe some limit share.
template <typename OpT> struct LimitedFold : OpRewritePattern<OpT> {
  LimitedFold(MLIRContext *context, int64_t limit)
      : OpRewritePattern<OpT>(context), limit(limit) {}

protected:
  int64_t limit;
};

// Pattern: abs(constant) -> constant, of complex numbers
struct FoldComplexAbs : OpRewritePattern<AbsOp> {
  FoldComplexAbs(MLIRContext *context, const OptimizationOptions &options)
      : OpRewritePattern(context), options(options) {}

  LogicalResult matchAndRewrite(AbsOp op,
                                PatternRewriter &rewriter) const override {
    SmallVector<DenseElementsAttr> operands = getConstantOperands(op);
    if (operands.empty() || !options.optimizeFloat)
      return failure();
    RankedTensorType type = getResultType(op);
    auto pair = dyn_cast<ComplexType>(operands[0].getElementType());
    if (!pair || pair.getElementType() != type.getElementType() ||
        !hasOwnArithmetic(type.getElementType()) ||
        !isWithinLimit(type, operands, options.foldOpElementLimit))
      return failure();
    using Complex = std::complex<APFloat>;
    DenseElementsAttr value = evaluate<Complex, APFloat>(
        type, operands, [](ArrayRef<Complex> z) { return evaluateAbs(z[0]); });
    if (!value)
      return failure();
    replaceByConstant(rewriter, op, value);
    return success();
  }

private:
  OptimizationOptions options;
};

// Pattern: erf(constant) -> constant
struct FoldErf : OpRewritePattern<chlo::ErfOp> {
  FoldErf(MLIRContext *context, const OptimizationOptions &options)
      : OpRewritePattern(context), options(options) {}

  LogicalResult matchAndRewrite(chlo::ErfOp op,
                                PatternRewriter &rewriter) const override {
    SmallVector<DenseElementsAttr> operands = getOperandsOfOneType(op);
    if (operands.size() != 1 || !options.optimizeFloat)
      return failure();
    RankedTensorType type = getResultType(op);
    if (!hasOwnArithmetic(type.getElementType()) ||
        !isWithinLimit(type, operands, options.foldOpElementLimit))
      return failure();
    DenseElementsAttr value = evaluate<APFloat, APFloat>(
        type, operands, [](ArrayRef<APFloat> x) { return evaluateErf(x[0]); });
    if (!value)
      return failure();
    replaceByConstant(rewriter, op, value);
    return success();
  }

private:
  OptimizationOptions options;
};
} // namespace

//===----------------------------------------------------------------------===//
// Comparison and choice
//===----------------------------------------------------------------------===//

static bool holds(ComparisonDirection direction, bool less, bool equal) {
  switch (direction) {
  case ComparisonDirection::EQ:
    return equal;
  case ComparisonDirection::NE:
    return !equal;
  case ComparisonDirection::LT:
    return less;
  case ComparisonDirection::LE:
    return less || equal;
  case ComparisonDirection::GT:
    return !less && !equal;
  case ComparisonDirection::GE:
    return !less;
  }
  llvm_unreachable("unknown comparison direction");
}

/// The order of all bit patterns: numbers by their value, -0 before +0, NaN
/// outside of the infinities on the side of its sign.
static bool isBeforeInTotalOrder(const APFloat &a, const APFloat &b) {
  APInt x = a.bitcastToAPInt(), y = b.bitcastToAPInt();
  if (x.isNegative() != y.isNegative())
    return x.isNegative();
  return x.isNegative() ? y.ult(x) : x.ult(y);
}

static IntResult compare(CompareOp op, const APFloat &a, const APFloat &b) {
  ComparisonDirection direction = op.getComparisonDirection();
  if (op.getCompareType() == ComparisonType::TOTALORDER)
    return APInt(
        1, holds(direction, isBeforeInTotalOrder(a, b), a.bitwiseIsEqual(b)));
  if (isFlushable(a) || isFlushable(b))
    return std::nullopt;
  if (a.isNaN() || b.isNaN())
    return APInt(1, direction == ComparisonDirection::NE);
  return APInt(1, holds(direction, a < b, a == b));
}

namespace {
// Pattern: compare(constants) -> constant
struct FoldCompare : LimitedFold<CompareOp> {
  using LimitedFold::LimitedFold;
  LogicalResult matchAndRewrite(CompareOp op,
                                PatternRewriter &rewriter) const override {
    SmallVector<DenseElementsAttr> operands = getConstantOperands(op);
    if (operands.empty() ||
        operands[0].getElementType() != operands[1].getElementType() ||
        !isWithinLimit(getResultType(op), operands, limit))
      return failure();
    Type element = operands[0].getElementType();
    DenseElementsAttr value;
    if (isa<IntegerType>(element))
      value = evaluate<APInt, APInt>(
          getResultType(op), operands, [&](ArrayRef<APInt> x) -> IntResult {
            bool less =
                isUnsignedType(element) ? x[0].ult(x[1]) : x[0].slt(x[1]);
            return APInt(
                1, holds(op.getComparisonDirection(), less, x[0] == x[1]));
          });
    else if (hasOwnArithmetic(element))
      value = evaluate<APFloat, APInt>(
          getResultType(op), operands,
          [&](ArrayRef<APFloat> x) { return compare(op, x[0], x[1]); });
    if (!value)
      return failure();
    replaceByConstant(rewriter, op, value);
    return success();
  }
};

// Pattern: clamp(constants) -> constant, of bounds per element
struct FoldClamp : LimitedFold<ClampOp> {
  using LimitedFold::LimitedFold;
  LogicalResult matchAndRewrite(ClampOp op,
                                PatternRewriter &rewriter) const override {
    SmallVector<DenseElementsAttr> operands = getOperandsOfOneType(op);
    if (operands.empty() || !llvm::all_equal(op->getOperandTypes()))
      return failure();
    RankedTensorType type = getResultType(op);
    if (!isWithinLimit(type, operands, limit))
      return failure();
    Type element = type.getElementType();
    DenseElementsAttr value;
    if (isa<IntegerType>(element))
      value = evaluate<APInt, APInt>(
          type, operands, [&](ArrayRef<APInt> x) -> IntResult {
            using namespace llvm::APIntOps;
            return isUnsignedType(element) ? umin(umax(x[1], x[0]), x[2])
                                           : smin(smax(x[1], x[0]), x[2]);
          });
    else if (hasOwnArithmetic(element))
      value = evaluate<APFloat, APFloat>(
          type, operands, [](ArrayRef<APFloat> x) -> FloatResult {
            if (llvm::any_of(x, isFlushable))
              return std::nullopt;
            return llvm::minimum(llvm::maximum(x[1], x[0]), x[2]);
          });
    if (!value)
      return failure();
    replaceByConstant(rewriter, op, value);
    return success();
  }
};

// Pattern: select(constants) -> constant
struct FoldSelect : LimitedFold<SelectOp> {
  using LimitedFold::LimitedFold;
  LogicalResult matchAndRewrite(SelectOp op,
                                PatternRewriter &rewriter) const override {
    SmallVector<DenseElementsAttr> operands = getConstantOperands(op);
    if (operands.empty())
      return failure();
    RankedTensorType type = getResultType(op);
    if (!isa<IntegerType>(type.getElementType()) ||
        operands[1].getElementType() != type.getElementType() ||
        operands[2].getElementType() != type.getElementType() ||
        operands[0].getType().getShape() != type.getShape() ||
        !isWithinLimit(type, operands, limit))
      return failure();
    auto preds = operands[0].value_begin<bool>();
    auto onTrue = operands[1].value_begin<APInt>();
    auto onFalse = operands[2].value_begin<APInt>();
    SmallVector<APInt> values;
    for (int64_t i = 0, count = areSplats(operands) ? 1 : type.getNumElements();
         i < count; ++i)
      values.push_back(*(*(preds + i) ? onTrue + i : onFalse + i));
    replaceByConstant(rewriter, op, DenseElementsAttr::get(type, values));
    return success();
  }
};
} // namespace

//===----------------------------------------------------------------------===//
// Conversion
//===----------------------------------------------------------------------===//

/// Converts every element; nothing if one has no value of the type, or if the
/// types are not of plain numbers.
static DenseElementsAttr convert(DenseElementsAttr from,
                                 RankedTensorType type) {
  Type source = from.getElementType(), target = type.getElementType();
  bool fromUnsigned = isUnsignedType(source);
  auto integer = dyn_cast<IntegerType>(target);
  auto floating = dyn_cast<FloatType>(target);
  if (integer && isa<IntegerType>(source))
    return evaluate<APInt, APInt>(type, from, [&](ArrayRef<APInt> x) {
      return convertToInteger(x[0], fromUnsigned, integer);
    });
  if (integer && isa<FloatType>(source))
    return evaluate<APFloat, APInt>(type, from, [&](ArrayRef<APFloat> x) {
      return convertToInteger(x[0], integer);
    });
  if (floating && isa<IntegerType>(source))
    return evaluate<APInt, APFloat>(type, from, [&](ArrayRef<APInt> x) {
      return convertToFloat(x[0], fromUnsigned, floating);
    });
  if (floating && isa<FloatType>(source))
    return evaluate<APFloat, APFloat>(type, from, [&](ArrayRef<APFloat> x) {
      return convertToFloat(x[0], floating);
    });
  return {};
}

namespace {
// Pattern: convert(constant) -> constant
struct FoldConvert : LimitedFold<ConvertOp> {
  using LimitedFold::LimitedFold;
  LogicalResult matchAndRewrite(ConvertOp op,
                                PatternRewriter &rewriter) const override {
    SmallVector<DenseElementsAttr> operands = getConstantOperands(op);
    if (operands.empty())
      return failure();
    RankedTensorType type = getResultType(op);
    // This op makes splats only within the limit, too.
    std::optional<int64_t> count = countElements(type);
    if (!count || *count > limit || !isWithinLimit(type, operands, limit))
      return failure();
    DenseElementsAttr value = convert(operands[0], type);
    if (!value)
      return failure();
    replaceByConstant(rewriter, op, value);
    return success();
  }
};
} // namespace

void mlir::stablehlo::populateConstantFolding(
    RewritePatternSet &patterns, const OptimizationOptions &options) {
  MLIRContext *context = patterns.getContext();
  patterns.add<
      FoldArithmetic<AddOp>, FoldArithmetic<SubtractOp>,
      FoldArithmetic<MultiplyOp>, FoldArithmetic<DivideOp>,
      FoldArithmetic<RemainderOp>, FoldArithmetic<MaximumOp>,
      FoldArithmetic<MinimumOp>, FoldArithmetic<AndOp>, FoldArithmetic<OrOp>,
      FoldArithmetic<XorOp>, FoldArithmetic<NotOp>, FoldArithmetic<AbsOp>,
      FoldArithmetic<NegateOp>, FoldArithmetic<SignOp>,
      FoldArithmetic<RoundNearestEvenOp>, FoldArithmetic<RoundNearestAfzOp>,
      FoldArithmetic<SqrtOp>, FoldArithmetic<RsqrtOp>, FoldArithmetic<LogOp>,
      FoldArithmetic<ExponentialOp>, FoldArithmetic<LogisticOp>,
      FoldArithmetic<SineOp>, FoldArithmetic<CosineOp>, FoldArithmetic<TanOp>,
      FoldArithmetic<TanhOp>, FoldComplexAbs, FoldErf>(context, options);
  patterns.add<FoldClamp, FoldCompare>(context, getEagerLimit(options));
  patterns.add<FoldConvert, FoldSelect>(context, options.foldOpElementLimit);
}
