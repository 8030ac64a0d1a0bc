//===- BroadcastPatterns.cpp - chlo.broadcast_* to StableHLO --------------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

#include "meshwright/Dialect/CHLO/Transforms/LegalizePatterns.h"
#include "mlir/Dialect/Quant/IR/QuantTypes.h"
#include "mlir/IR/TypeUtilities.h"
#include "llvm/ADT/STLExtras.h"

using namespace mlir;
using namespace mlir::chlo;

/// Broadcasts to `shape`: dimensions align at the end, unless the operand of
/// the lower rank says where its own go.
static Value broadcastTo(Value value, ArrayRef<int64_t> shape,
                         std::optional<ArrayRef<int64_t>> dimensions,
                         ImplicitLocOpBuilder &builder) {
  auto type = cast<RankedTensorType>(value.getType());
  if (type.getShape() == shape)
    return value;
  SmallVector<int64_t> mapping;
  int64_t offset = static_cast<int64_t>(shape.size()) - type.getRank();
  if (dimensions && offset > 0)
    mapping.assign(dimensions->begin(), dimensions->end());
  else
    llvm::append_range(mapping, llvm::seq<int64_t>(offset, shape.size()));
  // Without bounds, which are for dimensions that are no longer these.
  return stablehlo::BroadcastInDimOp::create(
      builder, RankedTensorType::get(shape, type.getElementType()), value,
      mapping);
}

/// Whether a value keeps its element type where it is broadcast: scales along a
/// dimension must go with it.
static bool keepsElementType(Value value, ArrayRef<int64_t> shape) {
  auto type = cast<RankedTensorType>(value.getType());
  auto quantized =
      dyn_cast<quant::UniformQuantizedPerAxisType>(type.getElementType());
  if (!quantized)
    return true;
  int32_t axis = quantized.getQuantizedDimension();
  return type.getRank() == static_cast<int64_t>(shape.size()) &&
         type.getDimSize(axis) == shape[axis];
}

static bool areStatic(Operation *op) {
  auto isStatic = [](Type type) {
    auto tensor = dyn_cast<RankedTensorType>(type);
    return tensor && tensor.hasStaticShape();
  };
  return llvm::all_of(op->getOperandTypes(), isStatic) &&
         llvm::all_of(op->getResultTypes(), isStatic);
}

/// The ops that broadcast are defined for all elements, what they become is not.
template <typename TargetOp> static bool takesElement(Type element) {
  if constexpr (llvm::is_one_of<TargetOp, NextAfterOp, PolygammaOp,
                                ZetaOp>::value)
    return isa<FloatType>(element);
  else if constexpr (std::is_same_v<TargetOp, stablehlo::AddOp>)
    return true;
  else if (isa<quant::UniformQuantizedPerAxisType>(element))
    return false;
  else if constexpr (llvm::is_one_of<TargetOp, stablehlo::ShiftLeftOp,
                                     stablehlo::ShiftRightArithmeticOp,
                                     stablehlo::ShiftRightLogicalOp>::value)
    return isa<IntegerType>(element) && !element.isInteger(1);
  else if constexpr (llvm::is_one_of<TargetOp, stablehlo::AndOp,
                                     stablehlo::OrOp, stablehlo::XorOp>::value)
    return isa<IntegerType>(element);
  else if constexpr (std::is_same_v<TargetOp, stablehlo::Atan2Op>)
    return !isa<IntegerType>(element);
  else if constexpr (std::is_same_v<TargetOp, stablehlo::ComplexOp>)
    return element.isF32() || element.isF64();
  else if constexpr (llvm::is_one_of<TargetOp, stablehlo::DivideOp,
                                     stablehlo::PowerOp, stablehlo::RemainderOp,
                                     stablehlo::SubtractOp>::value)
    return !element.isInteger(1);
  else
    return true;
}

namespace {
/// Broadcasts both operands and builds `TargetOp` on them.
template <typename BroadcastOp, typename TargetOp>
struct LegalizeBinary : OpRewritePattern<BroadcastOp> {
  using OpRewritePattern<BroadcastOp>::OpRewritePattern;

  LogicalResult matchAndRewrite(BroadcastOp op,
                                PatternRewriter &rewriter) const override {
    if (!areStatic(op))
      return rewriter.notifyMatchFailure(op, "dynamic shapes");
    if (!takesElement<TargetOp>(getElementTypeOrSelf(op.getLhs())))
      return rewriter.notifyMatchFailure(op, "not defined for such elements");
    auto type = cast<RankedTensorType>(op->getResult(0).getType());
    if (!keepsElementType(op.getLhs(), type.getShape()) ||
        !keepsElementType(op.getRhs(), type.getShape()))
      return rewriter.notifyMatchFailure(op, "scales along what is repeated");
    ImplicitLocOpBuilder builder(op.getLoc(), rewriter);
    Value lhs = broadcastTo(op.getLhs(), type.getShape(),
                            op.getBroadcastDimensions(), builder);
    Value rhs = broadcastTo(op.getRhs(), type.getShape(),
                            op.getBroadcastDimensions(), builder);
    rewriter.replaceOp(op, build(op, type, lhs, rhs, builder));
    return success();
  }

private:
  static Value build(BroadcastOp op, Type type, Value lhs, Value rhs,
                     ImplicitLocOpBuilder &builder) {
    if constexpr (std::is_same_v<TargetOp, stablehlo::CompareOp>) {
      // The enums of the two dialects have the same values.
      auto direction = static_cast<stablehlo::ComparisonDirection>(
          op.getComparisonDirection());
      stablehlo::ComparisonTypeAttr kind;
      if (auto given = op.getCompareType())
        kind = stablehlo::ComparisonTypeAttr::get(
            builder.getContext(),
            static_cast<stablehlo::ComparisonType>(*given));
      return stablehlo::CompareOp::create(
          builder, type, lhs, rhs,
          stablehlo::ComparisonDirectionAttr::get(builder.getContext(),
                                                  direction),
          kind);
    } else {
      return TargetOp::create(builder, type, lhs, rhs);
    }
  }
};

struct LegalizeSelect : OpRewritePattern<BroadcastSelectOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(BroadcastSelectOp op,
                                PatternRewriter &rewriter) const override {
    if (!areStatic(op))
      return rewriter.notifyMatchFailure(op, "dynamic shapes");
    auto type = cast<RankedTensorType>(op->getResult(0).getType());
    if (isa<quant::UniformQuantizedPerAxisType>(type.getElementType()))
      return rewriter.notifyMatchFailure(op, "not defined for such elements");
    ImplicitLocOpBuilder builder(op.getLoc(), rewriter);
    auto broadcast = [&](Value value) {
      return broadcastTo(value, type.getShape(), std::nullopt, builder);
    };
    // A scalar predicate may stay one.
    Value pred = op.getPred();
    if (cast<RankedTensorType>(pred.getType()).getRank() != 0)
      pred = broadcast(pred);
    Value onTrue = broadcast(op.getOnTrue()),
          onFalse = broadcast(op.getOnFalse());
    rewriter.replaceOpWithNewOp<stablehlo::SelectOp>(op, type, pred, onTrue,
                                                     onFalse);
    return success();
  }
};
} // namespace

void mlir::chlo::populateBroadcastPatterns(RewritePatternSet &patterns) {
  patterns.add<LegalizeSelect, LegalizeBinary<BroadcastAddOp, stablehlo::AddOp>,
               LegalizeBinary<BroadcastAndOp, stablehlo::AndOp>,
               LegalizeBinary<BroadcastAtan2Op, stablehlo::Atan2Op>,
               LegalizeBinary<BroadcastCompareOp, stablehlo::CompareOp>,
               LegalizeBinary<BroadcastComplexOp, stablehlo::ComplexOp>,
               LegalizeBinary<BroadcastDivideOp, stablehlo::DivideOp>,
               LegalizeBinary<BroadcastMaximumOp, stablehlo::MaximumOp>,
               LegalizeBinary<BroadcastMinimumOp, stablehlo::MinimumOp>,
               LegalizeBinary<BroadcastMultiplyOp, stablehlo::MultiplyOp>,
               LegalizeBinary<BroadcastNextAfterOp, NextAfterOp>,
               LegalizeBinary<BroadcastOrOp, stablehlo::OrOp>,
               LegalizeBinary<BroadcastPolygammaOp, PolygammaOp>,
               LegalizeBinary<BroadcastPowerOp, stablehlo::PowerOp>,
               LegalizeBinary<BroadcastRemainderOp, stablehlo::RemainderOp>,
               LegalizeBinary<BroadcastShiftLeftOp, stablehlo::ShiftLeftOp>,
               LegalizeBinary<BroadcastShiftRightArithmeticOp,
                              stablehlo::ShiftRightArithmeticOp>,
               LegalizeBinary<BroadcastShiftRightLogicalOp,
                              stablehlo::ShiftRightLogicalOp>,
               LegalizeBinary<BroadcastSubtractOp, stablehlo::SubtractOp>,
               LegalizeBinary<BroadcastXorOp, stablehlo::XorOp>,
               LegalizeBinary<BroadcastZetaOp, ZetaOp>>(patterns.getContext());
}
