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

bool stablehlo::takeFromBudget(RankedTensorType type, int64_t limit) {
  std::optional<int64_t> count = countElements(type);
  if (!count || *count > limit || *count > remainingElements)
    return false;
  remainingElements -= *count;
  return true;
}

bool stablehlo::isWithinLimit(RankedTensorType type,
                              ArrayRef<DenseElementsAttr> operands,
                              int64_t limit) {
  return areSplats(operands) || takeFromBudget(type, limit);
}

int64_t stablehlo::getEagerLimit(const OptimizationOptions &options) {
  return std::max(options.foldOpElementLimit,
                  OptimizationOptions().foldOpElementLimit);
}

namespace {
/// Replaces an op on constants by the value that `fold` returns, if any.
template <typename OpT> class FoldConstants : public OpRewritePattern<OpT> {
public:
  using Fold = DenseElementsAttr (*)(OpT op,
                                     ArrayRef<DenseElementsAttr> operands,
                                     const OptimizationOptions &options);

  FoldConstants(MLIRContext *context, Fold fold,
                const OptimizationOptions &options)
      : OpRewritePattern<OpT>(context), fold(fold), options(options) {}

  LogicalResult matchAndRewrite(OpT op,
                                PatternRewriter &rewriter) const override {
    SmallVector<DenseElementsAttr> operands = getConstantOperands(op);
    DenseElementsAttr value =
        operands.empty() ? DenseElementsAttr() : fold(op, operands, options);
    if (!value)
      return failure();
    replaceByConstant(rewriter, op, value);
    return success();
  }

private:
  Fold fold;
  OptimizationOptions options;
};
} // namespace

/// Whether all operands have the element type of the result of `op`.
static bool haveOneType(Operation *op, ArrayRef<DenseElementsAttr> operands) {
  return llvm::all_of(operands, [&](DenseElementsAttr operand) {
    return operand.getElementType() == getResultType(op).getElementType();
  });
}

// Pattern: op(constants) -> constant, of arithmetic
template <typename OpT>
static DenseElementsAttr foldArithmetic(OpT op,
                                        ArrayRef<DenseElementsAttr> operands,
                                        const OptimizationOptions &options) {
  RankedTensorType type = getResultType(op);
  Type element = type.getElementType();
  bool isInteger = isa<IntegerType>(element);
  if (!haveOneType(op, operands) ||
      !(isInteger || (options.optimizeFloat && hasOwnArithmetic(element))) ||
      !isWithinLimit(type, operands,
                     operands.size() == 1 ? options.foldOpElementLimit
                                          : getEagerLimit(options)))
    return {};
  if (isInteger)
    return evaluate<APInt, APInt>(type, operands, [&](ArrayRef<APInt> x) {
      return x.size() == 1
                 ? evaluateInteger(op, x[0])
                 : evaluateIntegers(op, x[0], x[1], isUnsignedType(element));
    });
  return evaluate<APFloat, APFloat>(type, operands, [&](ArrayRef<APFloat> x) {
    return x.size() == 1 ? evaluateFloat(op, x[0])
                         : evaluateFloats(op, x[0], x[1]);
  });
}

// Pattern: abs(constant) -> constant, of complex numbers
static DenseElementsAttr foldComplexAbs(AbsOp op,
                                        ArrayRef<DenseElementsAttr> operands,
                                        const OptimizationOptions &options) {
  RankedTensorType type = getResultType(op);
  auto pair = dyn_cast<ComplexType>(operands[0].getElementType());
  if (!options.optimizeFloat || !pair ||
      pair.getElementType() != type.getElementType() ||
      !hasOwnArithmetic(type.getElementType()) ||
      !isWithinLimit(type, operands, options.foldOpElementLimit))
    return {};
  using Complex = std::complex<APFloat>;
  return evaluate<Complex, APFloat>(
      type, operands, [](ArrayRef<Complex> z) { return evaluateAbs(z[0]); });
}

// Pattern: erf(constant) -> constant
static DenseElementsAttr foldErf(chlo::ErfOp op,
                                 ArrayRef<DenseElementsAttr> operands,
                                 const OptimizationOptions &options) {
  RankedTensorType type = getResultType(op);
  if (!options.optimizeFloat || !haveOneType(op, operands) ||
      !hasOwnArithmetic(type.getElementType()) ||
      !isWithinLimit(type, operands, options.foldOpElementLimit))
    return {};
  return evaluate<APFloat, APFloat>(
      type, operands, [](ArrayRef<APFloat> x) { return evaluateErf(x[0]); });
}

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

// Pattern: compare(constants) -> constant
static DenseElementsAttr foldCompare(CompareOp op,
                                     ArrayRef<DenseElementsAttr> operands,
                                     const OptimizationOptions &options) {
  Type element = operands[0].getElementType();
  if (element != operands[1].getElementType() ||
      !isWithinLimit(getResultType(op), operands, getEagerLimit(options)))
    return {};
  if (isa<IntegerType>(element))
    return evaluate<APInt, APInt>(
        getResultType(op), operands, [&](ArrayRef<APInt> x) -> IntResult {
          bool less = isUnsignedType(element) ? x[0].ult(x[1]) : x[0].slt(x[1]);
          return APInt(1,
                       holds(op.getComparisonDirection(), less, x[0] == x[1]));
        });
  if (hasOwnArithmetic(element))
    return evaluate<APFloat, APInt>(
        getResultType(op), operands,
        [&](ArrayRef<APFloat> x) { return compare(op, x[0], x[1]); });
  return {};
}

// Pattern: clamp(constants) -> constant, of bounds per element
static DenseElementsAttr foldClamp(ClampOp op,
                                   ArrayRef<DenseElementsAttr> operands,
                                   const OptimizationOptions &options) {
  RankedTensorType type = getResultType(op);
  if (!haveOneType(op, operands) || !llvm::all_equal(op->getOperandTypes()) ||
      !isWithinLimit(type, operands, getEagerLimit(options)))
    return {};
  Type element = type.getElementType();
  if (isa<IntegerType>(element))
    return evaluate<APInt, APInt>(
        type, operands, [&](ArrayRef<APInt> x) -> IntResult {
          using namespace llvm::APIntOps;
          return isUnsignedType(element) ? umin(umax(x[1], x[0]), x[2])
                                         : smin(smax(x[1], x[0]), x[2]);
        });
  if (hasOwnArithmetic(element))
    return evaluate<APFloat, APFloat>(
        type, operands, [](ArrayRef<APFloat> x) -> FloatResult {
          if (llvm::any_of(x, isFlushable))
            return std::nullopt;
          return llvm::minimum(llvm::maximum(x[1], x[0]), x[2]);
        });
  return {};
}

// Pattern: select(constants) -> constant
static DenseElementsAttr foldSelect(SelectOp op,
                                    ArrayRef<DenseElementsAttr> operands,
                                    const OptimizationOptions &options) {
  RankedTensorType type = getResultType(op);
  if (!isa<IntegerType>(type.getElementType()) ||
      !haveOneType(op, operands.drop_front()) ||
      operands[0].getType().getShape() != type.getShape() ||
      !isWithinLimit(type, operands, options.foldOpElementLimit))
    return {};
  auto preds = operands[0].value_begin<bool>();
  auto onTrue = operands[1].value_begin<APInt>();
  auto onFalse = operands[2].value_begin<APInt>();
  SmallVector<APInt> values;
  for (int64_t i = 0, count = areSplats(operands) ? 1 : type.getNumElements();
       i < count; ++i)
    values.push_back(*(*(preds + i) ? onTrue + i : onFalse + i));
  return DenseElementsAttr::get(type, values);
}

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

// Pattern: convert(constant) -> constant
static DenseElementsAttr foldConvert(ConvertOp op,
                                     ArrayRef<DenseElementsAttr> operands,
                                     const OptimizationOptions &options) {
  RankedTensorType type = getResultType(op);
  int64_t limit = options.foldOpElementLimit;
  // This op makes splats only within the limit, too.
  std::optional<int64_t> count = countElements(type);
  if (!count || *count > limit || !isWithinLimit(type, operands, limit))
    return {};
  return convert(operands[0], type);
}

template <typename... OpT>
static void addArithmetic(RewritePatternSet &patterns,
                          const OptimizationOptions &options) {
  (patterns.add<FoldConstants<OpT>>(patterns.getContext(), foldArithmetic<OpT>,
                                    options),
   ...);
}

void mlir::stablehlo::populateConstantFolding(
    RewritePatternSet &patterns, const OptimizationOptions &options) {
  addArithmetic<AddOp, SubtractOp, MultiplyOp, DivideOp, RemainderOp, MaximumOp,
                MinimumOp, AndOp, OrOp, XorOp, NotOp, AbsOp, NegateOp, SignOp,
                RoundNearestEvenOp, RoundNearestAfzOp, SqrtOp, RsqrtOp, LogOp,
                ExponentialOp, LogisticOp, SineOp, CosineOp, TanOp, TanhOp>(
      patterns, options);
  MLIRContext *context = patterns.getContext();
  patterns.add<FoldConstants<AbsOp>>(context, foldComplexAbs, options);
  patterns.add<FoldConstants<chlo::ErfOp>>(context, foldErf, options);
  patterns.add<FoldConstants<ClampOp>>(context, foldClamp, options);
  patterns.add<FoldConstants<CompareOp>>(context, foldCompare, options);
  patterns.add<FoldConstants<ConvertOp>>(context, foldConvert, options);
  patterns.add<FoldConstants<SelectOp>>(context, foldSelect, options);
}
