//===- ConstantFolding.cpp - Ops whose operands are constants -------------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// Arithmetic is evaluated at any size: its result is no larger than what it
// replaces. Ops that would put a large constant where a small op was observe
// the element limit.
//
//===----------------------------------------------------------------------===//

#include "meshwright/Dialect/StableHLO/Transforms/OptimizationPatterns.h"
#include "llvm/ADT/APSInt.h"
#include "llvm/ADT/SmallVectorExtras.h"
#include <cmath>

using namespace mlir;
using namespace mlir::stablehlo;

using IntResult = std::optional<APInt>;
using FloatResult = std::optional<APFloat>;

static RankedTensorType getResultType(Operation *op) {
  return cast<RankedTensorType>(op->getResult(0).getType());
}

static bool isUnsigned(Type type) {
  return type.isUnsignedInteger() || type.isInteger(1);
}

/// Evaluates element by element, or once if all operands are splats. Nothing if
/// `function` has no value somewhere.
template <typename From, typename To, typename Function>
static DenseElementsAttr evaluate(RankedTensorType type,
                                  ArrayRef<DenseElementsAttr> operands,
                                  Function function) {
  bool splat = llvm::all_of(
      operands, [](DenseElementsAttr attr) { return attr.isSplat(); });
  int64_t count = splat ? 1 : type.getNumElements();
  auto iterators = llvm::map_to_vector(operands, [](DenseElementsAttr attr) {
    return attr.value_begin<From>();
  });
  SmallVector<To> values;
  for (int64_t i = 0; i < count; ++i) {
    auto args = llvm::map_to_vector(iterators, [](auto it) { return *it; });
    std::optional<To> value = function(ArrayRef<From>(args));
    if (!value)
      return {};
    values.push_back(*value);
    if (i + 1 < count)
      for (auto &it : iterators)
        ++it;
  }
  return DenseElementsAttr::get(type, values);
}

/// The constants that `op` reads, or nothing if some operand is none. Empty
/// tensors are left to a pattern of their own.
static SmallVector<DenseElementsAttr> getConstantOperands(Operation *op) {
  SmallVector<DenseElementsAttr> constants;
  auto type = dyn_cast<RankedTensorType>(op->getResult(0).getType());
  if (!type || !type.hasStaticShape() || type.getNumElements() == 0)
    return {};
  for (Value operand : op->getOperands()) {
    DenseElementsAttr constant = getConstant(operand);
    if (!constant || constant.getNumElements() == 0)
      return {};
    constants.push_back(constant);
  }
  return constants;
}

/// Whether a result that an op computes from constants is not too large. One
/// of splats is itself a splat and takes no more room.
static bool isWithinLimit(RankedTensorType type,
                          ArrayRef<DenseElementsAttr> operands, int64_t limit) {
  return type.getNumElements() <= limit ||
         llvm::all_of(operands,
                      [](DenseElementsAttr attr) { return attr.isSplat(); });
}

//===----------------------------------------------------------------------===//
// Arithmetic
//===----------------------------------------------------------------------===//

/// The value of a binary op on integers; nothing where it is undefined.
static IntResult evaluateIntegers(Operation *op, const APInt &a, const APInt &b,
                                  bool isUnsignedType) {
  bool overflow;
  if (isa<AddOp>(op)) // On booleans, a disjunction.
    return a.getBitWidth() == 1 ? a | b : a + b;
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
    return isUnsignedType ? llvm::APIntOps::umax(a, b)
                          : llvm::APIntOps::smax(a, b);
  if (isa<MinimumOp>(op))
    return isUnsignedType ? llvm::APIntOps::umin(a, b)
                          : llvm::APIntOps::smin(a, b);
  if (b.isZero())
    return std::nullopt;
  if (isa<DivideOp>(op))
    return isUnsignedType ? a.udiv(b) : a.sdiv_ov(b, overflow);
  if (isa<RemainderOp>(op))
    return isUnsignedType ? a.urem(b) : a.srem(b);
  return std::nullopt;
}

static FloatResult evaluateFloats(Operation *op, const APFloat &a,
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

/// Applies a function of doubles in the precision of `value`.
static FloatResult viaDouble(const APFloat &value, double (*function)(double)) {
  APFloat wide = value;
  bool losesInfo;
  wide.convert(APFloat::IEEEdouble(), APFloat::rmNearestTiesToEven, &losesInfo);
  APFloat result(function(wide.convertToDouble()));
  if (result.isNaN() && !wide.isNaN())
    return std::nullopt; // Outside the domain.
  result.convert(value.getSemantics(), APFloat::rmNearestTiesToEven,
                 &losesInfo);
  return result;
}

static FloatResult rounded(APFloat value, APFloat::roundingMode mode) {
  value.roundToIntegral(mode);
  return value;
}

/// The value of a unary op on floats; nothing where it is undefined.
static FloatResult evaluateFloat(Operation *op, const APFloat &x) {
  if (isa<AbsOp>(op))
    return llvm::abs(x);
  if (isa<NegateOp>(op))
    return llvm::neg(x);
  if (isa<SignOp>(op))
    return x.isNaN() || x.isZero()
               ? x
               : APFloat::getOne(x.getSemantics(), x.isNegative());
  if (isa<RoundNearestEvenOp>(op))
    return rounded(x, APFloat::rmNearestTiesToEven);
  if (isa<RoundNearestAfzOp>(op))
    return rounded(x, APFloat::rmNearestTiesToAway);
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
    return viaDouble(x, [](double v) { return 1.0 / (1.0 + std::exp(-v)); });
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

static IntResult evaluateInteger(Operation *op, const APInt &x) {
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

namespace {
// Pattern: op(constants) -> constant, of arithmetic
template <typename OpT> struct FoldArithmetic : OpRewritePattern<OpT> {
  FoldArithmetic(MLIRContext *context, const OptimizationOptions &options)
      : OpRewritePattern<OpT>(context), optimizeFloat(options.optimizeFloat),
        limit(options.foldOpElementLimit) {}

  LogicalResult matchAndRewrite(OpT op,
                                PatternRewriter &rewriter) const override {
    SmallVector<DenseElementsAttr> operands = getConstantOperands(op);
    if (operands.empty())
      return failure();
    RankedTensorType type = getResultType(op);
    Type element = type.getElementType();
    if (operands.size() == 1 && !isWithinLimit(type, operands, limit))
      return failure();
    DenseElementsAttr value;
    if (isa<IntegerType>(element))
      value = evaluate<APInt, APInt>(type, operands, [&](ArrayRef<APInt> x) {
        return x.size() == 1
                   ? evaluateInteger(op, x[0])
                   : evaluateIntegers(op, x[0], x[1], isUnsigned(element));
      });
    else if (isa<FloatType>(element) && optimizeFloat)
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
  bool optimizeFloat;
  int64_t limit;
};
} // namespace

namespace {
// Pattern: erf(constant) -> constant. CHLO is not among what this library
// knows, so the op is matched by its name.
struct FoldErf : RewritePattern {
  FoldErf(MLIRContext *context, const OptimizationOptions &options)
      : RewritePattern("chlo.erf", /*benefit=*/1, context), options(options) {}

  LogicalResult matchAndRewrite(Operation *op,
                                PatternRewriter &rewriter) const override {
    SmallVector<DenseElementsAttr> operands = getConstantOperands(op);
    if (operands.size() != 1 || !options.optimizeFloat)
      return failure();
    RankedTensorType type = getResultType(op);
    if (!isa<FloatType>(type.getElementType()) ||
        operands[0].getType() != type ||
        !isWithinLimit(type, operands, options.foldOpElementLimit))
      return failure();
    DenseElementsAttr value =
        evaluate<APFloat, APFloat>(type, operands, [](ArrayRef<APFloat> x) {
          return viaDouble(x[0], std::erf);
        });
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
// Comparison and clamping
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

// Pattern: compare(constants) -> constant
static LogicalResult foldCompare(CompareOp op, PatternRewriter &rewriter) {
  SmallVector<DenseElementsAttr> operands = getConstantOperands(op);
  if (operands.empty())
    return failure();
  bool isTotal = op.getCompareType() == ComparisonType::TOTALORDER;
  ComparisonDirection direction = op.getComparisonDirection();
  Type element = operands[0].getElementType();
  DenseElementsAttr value;
  if (isa<IntegerType>(element))
    value = evaluate<APInt, APInt>(
        getResultType(op), operands, [&](ArrayRef<APInt> x) -> IntResult {
          bool less = isUnsigned(element) ? x[0].ult(x[1]) : x[0].slt(x[1]);
          return APInt(1, holds(direction, less, x[0] == x[1]));
        });
  else if (isa<FloatType>(element))
    value = evaluate<APFloat, APInt>(
        getResultType(op), operands, [&](ArrayRef<APFloat> x) -> IntResult {
          if (isTotal)
            return APInt(1, holds(direction, isBeforeInTotalOrder(x[0], x[1]),
                                  x[0].bitwiseIsEqual(x[1])));
          if (x[0].isNaN() || x[1].isNaN())
            return APInt(1, direction == ComparisonDirection::NE);
          return APInt(1, holds(direction, x[0] < x[1], x[0] == x[1]));
        });
  if (!value)
    return failure();
  replaceByConstant(rewriter, op, value);
  return success();
}

// Pattern: clamp(constants) -> constant, of bounds per element
static LogicalResult foldClamp(ClampOp op, PatternRewriter &rewriter) {
  SmallVector<DenseElementsAttr> operands = getConstantOperands(op);
  if (operands.empty() || !llvm::all_equal(op->getOperandTypes()))
    return failure();
  RankedTensorType type = getResultType(op);
  Type element = type.getElementType();
  DenseElementsAttr value;
  if (isa<IntegerType>(element))
    value = evaluate<APInt, APInt>(
        type, operands, [&](ArrayRef<APInt> x) -> IntResult {
          using namespace llvm::APIntOps;
          return isUnsigned(element) ? umin(umax(x[1], x[0]), x[2])
                                     : smin(smax(x[1], x[0]), x[2]);
        });
  else if (isa<FloatType>(element))
    value = evaluate<APFloat, APFloat>(
        type, operands, [](ArrayRef<APFloat> x) -> FloatResult {
          return llvm::minimum(llvm::maximum(x[1], x[0]), x[2]);
        });
  if (!value)
    return failure();
  replaceByConstant(rewriter, op, value);
  return success();
}

//===----------------------------------------------------------------------===//
// Movement of data
//===----------------------------------------------------------------------===//

// Pattern: reshape(constant) -> constant
static LogicalResult foldReshape(ReshapeOp op, PatternRewriter &rewriter) {
  SmallVector<DenseElementsAttr> operands = getConstantOperands(op);
  if (operands.empty())
    return failure();
  replaceByConstant(rewriter, op, operands[0].reshape(getResultType(op)));
  return success();
}

// Pattern: op(splat) -> splat, where op moves data of its first operand only
template <typename OpT>
static LogicalResult foldSplat(OpT op, PatternRewriter &rewriter) {
  RankedTensorType type =
      dyn_cast<RankedTensorType>(op->getResult(0).getType());
  DenseElementsAttr operand = getConstant(op->getOperand(0));
  if (!operand || !operand.isSplat() || !type || !type.hasStaticShape() ||
      type.getElementType() != operand.getElementType())
    return failure();
  if (op->getOperand(0).getType() == type)
    replaceKeepingAttrs(rewriter, op, op->getOperand(0));
  else
    replaceByConstant(rewriter, op, operand.resizeSplat(type));
  return success();
}

/// Builds the result of an op that moves elements: `source` gives the position
/// in the operand for a position in the result.
static DenseElementsAttr moveElements(
    RankedTensorType type, DenseElementsAttr operand,
    function_ref<void(ArrayRef<int64_t>, MutableArrayRef<int64_t>)> source) {
  if (operand.isSplat())
    return operand.resizeSplat(type);
  ArrayRef<int64_t> fromShape = operand.getType().getShape();
  auto all = operand.value_begin<Attribute>();
  SmallVector<Attribute> moved;
  SmallVector<int64_t> to(type.getRank(), 0), from(fromShape.size(), 0);
  for (int64_t i = 0, count = type.getNumElements(); i < count; ++i) {
    source(to, from);
    int64_t offset = 0;
    for (auto [index, size] : llvm::zip_equal(from, fromShape))
      offset = offset * size + index;
    moved.push_back(*std::next(all, offset));
    for (int64_t dim = type.getRank() - 1; dim >= 0; --dim) {
      if (++to[dim] < type.getDimSize(dim))
        break;
      to[dim] = 0;
    }
  }
  return DenseElementsAttr::get(type, moved);
}

// Pattern: transpose(constant) -> constant
static LogicalResult foldTranspose(TransposeOp op, PatternRewriter &rewriter) {
  SmallVector<DenseElementsAttr> operands = getConstantOperands(op);
  if (operands.empty())
    return failure();
  ArrayRef<int64_t> permutation = op.getPermutation();
  auto source = [&](ArrayRef<int64_t> to, MutableArrayRef<int64_t> from) {
    for (auto [resultDim, operandDim] : llvm::enumerate(permutation))
      from[operandDim] = to[resultDim];
  };
  replaceByConstant(rewriter, op,
                    moveElements(getResultType(op), operands[0], source));
  return success();
}

// Pattern: slice(constant) -> constant
static LogicalResult foldSlice(SliceOp op, PatternRewriter &rewriter) {
  SmallVector<DenseElementsAttr> operands = getConstantOperands(op);
  if (operands.empty())
    return failure();
  auto source = [&](ArrayRef<int64_t> to, MutableArrayRef<int64_t> from) {
    for (auto [dim, index] : llvm::enumerate(to))
      from[dim] = op.getStartIndices()[dim] + index * op.getStrides()[dim];
  };
  replaceByConstant(rewriter, op,
                    moveElements(getResultType(op), operands[0], source));
  return success();
}

// Pattern: get_dimension_size(x) of static size -> constant
static LogicalResult foldDimensionSize(GetDimensionSizeOp op,
                                       PatternRewriter &rewriter) {
  auto operand = cast<RankedTensorType>(op.getOperand().getType());
  if (operand.isDynamicDim(op.getDimension()))
    return failure();
  auto size = static_cast<int32_t>(operand.getDimSize(op.getDimension()));
  replaceByConstant(rewriter, op,
                    DenseElementsAttr::get(getResultType(op), size));
  return success();
}

// Pattern: iota of one element -> 0
static LogicalResult foldIota(IotaOp op, PatternRewriter &rewriter) {
  RankedTensorType type = getResultType(op);
  Type element = type.getElementType();
  if (type.getRank() != 1 || type.getNumElements() != 1 ||
      !isa<IntegerType, FloatType>(element))
    return failure();
  replaceByConstant(rewriter, op,
                    DenseElementsAttr::get(
                        type, cast<Attribute>(rewriter.getZeroAttr(element))));
  return success();
}

//===----------------------------------------------------------------------===//
// Ops that observe the element limit
//===----------------------------------------------------------------------===//

namespace {
template <typename OpT> struct LimitedFold : OpRewritePattern<OpT> {
  LimitedFold(MLIRContext *context, int64_t limit)
      : OpRewritePattern<OpT>(context), limit(limit) {}

protected:
  int64_t limit;
};

// Pattern: reverse(constant) -> constant
struct FoldReverse : LimitedFold<ReverseOp> {
  using LimitedFold::LimitedFold;
  LogicalResult matchAndRewrite(ReverseOp op,
                                PatternRewriter &rewriter) const override {
    SmallVector<DenseElementsAttr> operands = getConstantOperands(op);
    if (operands.empty() || !isWithinLimit(getResultType(op), operands, limit))
      return failure();
    RankedTensorType type = getResultType(op);
    auto source = [&](ArrayRef<int64_t> to, MutableArrayRef<int64_t> from) {
      llvm::copy(to, from.begin());
      for (int64_t dim : op.getDimensions())
        from[dim] = type.getDimSize(dim) - 1 - to[dim];
    };
    replaceByConstant(rewriter, op, moveElements(type, operands[0], source));
    return success();
  }
};

// Pattern: concatenate(constants) -> constant, of any size if it is a splat
struct FoldConcatenate : LimitedFold<ConcatenateOp> {
  using LimitedFold::LimitedFold;
  LogicalResult matchAndRewrite(ConcatenateOp op,
                                PatternRewriter &rewriter) const override {
    SmallVector<DenseElementsAttr> operands = getConstantOperands(op);
    if (operands.empty())
      return failure();
    RankedTensorType type = getResultType(op);
    DenseElementsAttr first = operands.front();
    if (llvm::all_of(operands, [&](DenseElementsAttr operand) {
          return operand.isSplat() && first.isSplat() &&
                 operand.getSplatValue<Attribute>() ==
                     first.getSplatValue<Attribute>();
        })) {
      replaceByConstant(rewriter, op, first.resizeSplat(type));
      return success();
    }
    if (type.getNumElements() > limit)
      return failure();

    // Outside the dimension, pieces of all operands alternate.
    auto dim = static_cast<int64_t>(op.getDimension());
    int64_t outer = 1;
    for (int64_t i = 0; i < dim; ++i)
      outer *= type.getDimSize(i);
    auto elements = llvm::map_to_vector(operands, [](DenseElementsAttr attr) {
      return SmallVector<Attribute>(attr.getValues<Attribute>());
    });
    SmallVector<Attribute> values;
    for (int64_t i = 0; i < outer; ++i)
      for (ArrayRef<Attribute> piece : elements) {
        size_t size = piece.size() / outer;
        llvm::append_range(values, piece.slice(i * size, size));
      }
    replaceByConstant(rewriter, op, DenseElementsAttr::get(type, values));
    return success();
  }
};

// Pattern: select(constants) -> constant
struct FoldSelect : LimitedFold<SelectOp> {
  using LimitedFold::LimitedFold;
  LogicalResult matchAndRewrite(SelectOp op,
                                PatternRewriter &rewriter) const override {
    SmallVector<DenseElementsAttr> operands = getConstantOperands(op);
    RankedTensorType type =
        dyn_cast<RankedTensorType>(op->getResult(0).getType());
    if (operands.empty() || !isa<IntegerType>(type.getElementType()) ||
        operands[0].getType().getShape() != type.getShape() ||
        !isWithinLimit(type, operands, limit))
      return failure();
    auto preds = operands[0].value_begin<bool>();
    auto onTrue = operands[1].value_begin<APInt>();
    auto onFalse = operands[2].value_begin<APInt>();
    bool splat = llvm::all_of(
        operands, [](DenseElementsAttr attr) { return attr.isSplat(); });
    SmallVector<APInt> values;
    for (int64_t i = 0, count = splat ? 1 : type.getNumElements(); i < count;
         ++i)
      values.push_back(*(*(preds + i) ? onTrue + i : onFalse + i));
    replaceByConstant(rewriter, op, DenseElementsAttr::get(type, values));
    return success();
  }
};

// Pattern: convert(constant) -> constant
struct FoldConvert : LimitedFold<ConvertOp> {
  using LimitedFold::LimitedFold;
  LogicalResult matchAndRewrite(ConvertOp op,
                                PatternRewriter &rewriter) const override {
    SmallVector<DenseElementsAttr> operands = getConstantOperands(op);
    if (operands.empty() || getResultType(op).getNumElements() > limit)
      return failure();
    DenseElementsAttr value = convert(operands[0], getResultType(op));
    if (!value)
      return failure();
    replaceByConstant(rewriter, op, value);
    return success();
  }

private:
  static DenseElementsAttr convert(DenseElementsAttr from,
                                   RankedTensorType type) {
    Type source = from.getElementType(), target = type.getElementType();
    bool fromUnsigned = isUnsigned(source);
    if (auto integer = dyn_cast<IntegerType>(target)) {
      unsigned width = integer.getWidth();
      if (isa<IntegerType>(source))
        return evaluate<APInt, APInt>(
            type, from, [&](ArrayRef<APInt> x) -> IntResult {
              if (width == 1)
                return APInt(1, !x[0].isZero());
              return fromUnsigned ? x[0].zextOrTrunc(width)
                                  : x[0].sextOrTrunc(width);
            });
      if (isa<FloatType>(source))
        return evaluate<APFloat, APInt>(
            type, from, [&](ArrayRef<APFloat> x) -> IntResult {
              if (width == 1)
                return APInt(1, !x[0].isZero());
              if (!x[0].isFinite())
                return std::nullopt;
              llvm::APSInt result(width, integer.isUnsigned());
              bool exact;
              if (x[0].convertToInteger(result, APFloat::rmTowardZero,
                                        &exact) == APFloat::opInvalidOp)
                return std::nullopt;
              return result;
            });
    }
    auto floating = dyn_cast<FloatType>(target);
    if (!floating)
      return {};
    const llvm::fltSemantics &semantics = floating.getFloatSemantics();
    if (isa<IntegerType>(source))
      return evaluate<APInt, APFloat>(
          type, from, [&](ArrayRef<APInt> x) -> FloatResult {
            APFloat result(semantics);
            result.convertFromAPInt(x[0], !fromUnsigned,
                                    APFloat::rmNearestTiesToEven);
            return result;
          });
    if (isa<FloatType>(source))
      return evaluate<APFloat, APFloat>(
          type, from, [&](ArrayRef<APFloat> x) -> FloatResult {
            APFloat result = x[0];
            bool losesInfo;
            result.convert(semantics, APFloat::rmNearestTiesToEven, &losesInfo);
            return result;
          });
    return {};
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
      FoldArithmetic<TanhOp>>(context, options);
  patterns.add<FoldConcatenate, FoldConvert, FoldReverse, FoldSelect>(
      context, options.foldOpElementLimit);
  patterns.add<FoldErf>(context, options);
  patterns.add(foldClamp);
  patterns.add(foldCompare);
  patterns.add(foldDimensionSize);
  patterns.add(foldIota);
  patterns.add(foldReshape);
  patterns.add(foldTranspose);
  patterns.add(foldSlice);
  patterns.add(foldSplat<BroadcastInDimOp>);
  patterns.add(foldSplat<DynamicSliceOp>);
  patterns.add(foldSplat<ReverseOp>);
}
