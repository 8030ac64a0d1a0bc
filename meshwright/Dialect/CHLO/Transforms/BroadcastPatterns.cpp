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

template <typename TargetOp, typename BroadcastOp>
static Value build(BroadcastOp op, Type type, Value lhs, Value rhs,
                   ImplicitLocOpBuilder &builder) {
  if constexpr (std::is_same_v<TargetOp, stablehlo::CompareOp>) {
    // The enums of the two dialects have the same values.
    auto direction = static_cast<stablehlo::ComparisonDirection>(
        op.getComparisonDirection());
    stablehlo::ComparisonTypeAttr kind;
    if (auto given = op.getCompareType())
      kind = stablehlo::ComparisonTypeAttr::get(
          builder.getContext(), static_cast<stablehlo::ComparisonType>(*given));
    return stablehlo::CompareOp::create(builder, type, lhs, rhs,
                                        stablehlo::ComparisonDirectionAttr::get(
                                            builder.getContext(), direction),
                                        kind);
  } else {
    return TargetOp::create(builder, type, lhs, rhs);
  }
}

/// Broadcasts both operands and builds `TargetOp` on them.
template <typename BroadcastOp, typename TargetOp>
static LogicalResult legalizeBinary(BroadcastOp op, PatternRewriter &rewriter) {
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
  rewriter.replaceOp(op, build<TargetOp>(op, type, lhs, rhs, builder));
  return success();
}

static LogicalResult legalizeSelect(BroadcastSelectOp op,
                                    PatternRewriter &rewriter) {
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
void mlir::chlo::populateBroadcastPatterns(RewritePatternSet &patterns) {
  patterns.add(legalizeSelect);
  patterns.add(legalizeBinary<BroadcastAddOp, stablehlo::AddOp>);
  patterns.add(legalizeBinary<BroadcastAndOp, stablehlo::AndOp>);
  patterns.add(legalizeBinary<BroadcastAtan2Op, stablehlo::Atan2Op>);
  patterns.add(legalizeBinary<BroadcastCompareOp, stablehlo::CompareOp>);
  patterns.add(legalizeBinary<BroadcastComplexOp, stablehlo::ComplexOp>);
  patterns.add(legalizeBinary<BroadcastDivideOp, stablehlo::DivideOp>);
  patterns.add(legalizeBinary<BroadcastMaximumOp, stablehlo::MaximumOp>);
  patterns.add(legalizeBinary<BroadcastMinimumOp, stablehlo::MinimumOp>);
  patterns.add(legalizeBinary<BroadcastMultiplyOp, stablehlo::MultiplyOp>);
  patterns.add(legalizeBinary<BroadcastNextAfterOp, NextAfterOp>);
  patterns.add(legalizeBinary<BroadcastOrOp, stablehlo::OrOp>);
  patterns.add(legalizeBinary<BroadcastPolygammaOp, PolygammaOp>);
  patterns.add(legalizeBinary<BroadcastPowerOp, stablehlo::PowerOp>);
  patterns.add(legalizeBinary<BroadcastRemainderOp, stablehlo::RemainderOp>);
  patterns.add(legalizeBinary<BroadcastShiftLeftOp, stablehlo::ShiftLeftOp>);
  patterns.add(legalizeBinary<BroadcastShiftRightArithmeticOp,
                              stablehlo::ShiftRightArithmeticOp>);
  patterns.add(legalizeBinary<BroadcastShiftRightLogicalOp,
                              stablehlo::ShiftRightLogicalOp>);
  patterns.add(legalizeBinary<BroadcastSubtractOp, stablehlo::SubtractOp>);
  patterns.add(legalizeBinary<BroadcastXorOp, stablehlo::XorOp>);
  patterns.add(legalizeBinary<BroadcastZetaOp, ZetaOp>);
}
