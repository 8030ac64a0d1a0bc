//===- DynamicToStatic.cpp - Constant parameters become attributes --------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

#include "meshwright/Dialect/StableHLO/Transforms/OptimizationPatterns.h"
#include "llvm/ADT/STLExtras.h"

using namespace mlir;
using namespace mlir::stablehlo;

// Pattern: dynamic_slice(x, constants) -> slice(x), with clamped starts
static LogicalResult makeSlice(DynamicSliceOp op, PatternRewriter &rewriter) {
  RankedTensorType type = getTensorType(op.getOperand());
  if (!type.hasStaticShape())
    return failure();
  SmallVector<int64_t> starts, limits;
  for (auto [index, dimSize, size] : llvm::zip_equal(
           op.getStartIndices(), type.getShape(), op.getSliceSizes())) {
    std::optional<SmallVector<int64_t>> start = getConstantIntegers(index);
    if (!start)
      return failure();
    starts.push_back(std::clamp<int64_t>(start->front(), 0, dimSize - size));
    limits.push_back(starts.back() + size);
  }
  replaceByNewOp<SliceOp>(rewriter, op, op.getOperand(), starts, limits,
                          SmallVector<int64_t>(starts.size(), 1));
  return success();
}

// Pattern: real_dynamic_slice(x, constants) -> slice(x)
static LogicalResult makeStridedSlice(RealDynamicSliceOp op,
                                      PatternRewriter &rewriter) {
  auto starts = getConstantIntegers(op.getStartIndices());
  auto limits = getConstantIntegers(op.getLimitIndices());
  auto strides = getConstantIntegers(op.getStrides());
  RankedTensorType from = getTensorType(op.getOperand());
  RankedTensorType to = getTensorType(op->getResult(0));
  if (!starts || !limits || !strides || !from.hasStaticShape() ||
      !to.hasStaticShape() || from.getRank() != to.getRank())
    return failure();
  // The parameters of a dynamic op are not verified; those of a slice are.
  for (auto [start, limit, stride, size, dimSize] : llvm::zip_equal(
           *starts, *limits, *strides, to.getShape(), from.getShape()))
    if (start < 0 || limit < start || limit > dimSize || stride <= 0 ||
        size != llvm::divideCeilSigned(limit - start, stride))
      return failure();
  replaceByNewOp<SliceOp>(rewriter, op, op.getOperand(), *starts, *limits,
                          *strides);
  return success();
}

// Pattern: dynamic_pad(x, constants) -> pad(x)
static LogicalResult makePad(DynamicPadOp op, PatternRewriter &rewriter) {
  auto low = getConstantIntegers(op.getEdgePaddingLow());
  auto high = getConstantIntegers(op.getEdgePaddingHigh());
  auto interior = getConstantIntegers(op.getInteriorPadding());
  RankedTensorType from = getTensorType(op.getOperand());
  RankedTensorType to = getTensorType(op->getResult(0));
  if (!low || !high || !interior || !from.hasStaticShape() ||
      !to.hasStaticShape())
    return failure();
  for (auto [l, h, between, dimSize, size] :
       llvm::zip_equal(*low, *high, *interior, from.getShape(), to.getShape()))
    if (between < 0 || size != dilateSize(dimSize, between) + l + h)
      return failure();
  replaceByNewOp<PadOp>(rewriter, op, op.getOperand(), op.getPaddingValue(),
                        *low, *high, *interior);
  return success();
}

// Pattern: dynamic_iota(shape) -> iota, to a static type
static LogicalResult makeIota(DynamicIotaOp op, PatternRewriter &rewriter) {
  RankedTensorType type = getTensorType(op->getResult(0));
  if (!type.hasStaticShape() ||
      !isa<IntegerType, FloatType, ComplexType>(type.getElementType()) ||
      type.getElementType().isInteger(1))
    return failure();
  replaceByNewOp<IotaOp>(rewriter, op, op.getIotaDimension());
  return success();
}

// Pattern: dynamic_reshape(x, shape) -> reshape(x), between static types
static LogicalResult makeReshape(DynamicReshapeOp op,
                                 PatternRewriter &rewriter) {
  RankedTensorType from = getTensorType(op.getOperand());
  RankedTensorType to = getTensorType(op->getResult(0));
  if (!haveAsManyElements(from, to))
    return failure();
  replaceByNewOp<ReshapeOp>(rewriter, op, op.getOperand());
  return success();
}

// Pattern: dynamic_broadcast_in_dim(x, shape) -> broadcast_in_dim(x), between
// static types
static LogicalResult makeBroadcast(DynamicBroadcastInDimOp op,
                                   PatternRewriter &rewriter) {
  RankedTensorType from = getTensorType(op.getOperand());
  RankedTensorType to = getTensorType(op->getResult(0));
  if (!from.hasStaticShape() || !to.hasStaticShape())
    return failure();
  for (auto [dim, size] :
       llvm::zip_equal(op.getBroadcastDimensions(), from.getShape()))
    if (size != 1 && size != to.getDimSize(dim))
      return failure();
  replaceByNewOp<BroadcastInDimOp>(rewriter, op, op.getOperand(),
                                   op.getBroadcastDimensions());
  return success();
}

// Pattern: dynamic_gather(x, indices, constant) -> gather(x, indices)
static LogicalResult makeGather(DynamicGatherOp op, PatternRewriter &rewriter) {
  auto sizes = getConstantIntegers(op.getSliceSizes());
  RankedTensorType from = getTensorType(op.getOperand());
  if (!sizes || !from.hasStaticShape() ||
      !getTensorType(op->getResult(0)).hasStaticShape())
    return failure();
  // Sizes that have just become constant are not verified; those of a gather
  // are.
  GatherOp::Properties properties;
  properties.dimension_numbers = op.getDimensionNumbersAttr();
  properties.slice_sizes = rewriter.getDenseI64ArrayAttr(*sizes);
  properties.indices_are_sorted =
      rewriter.getBoolAttr(op.getIndicesAreSorted());
  if (!canReplace<GatherOp>(op, {op.getOperand(), op.getStartIndices()},
                            properties))
    return failure();
  replaceByNewOp<GatherOp>(rewriter, op, op.getOperand(), op.getStartIndices(),
                           properties.dimension_numbers, properties.slice_sizes,
                           properties.indices_are_sorted);
  return success();
}

// Pattern: gather(x, constant index) of one window -> slice(x), reshaped
static LogicalResult makeSliceOfGather(GatherOp op, PatternRewriter &rewriter) {
  RankedTensorType from = getTensorType(op.getOperand());
  RankedTensorType to = getTensorType(op->getResult(0));
  GatherDimensionNumbersAttr numbers = op.getDimensionNumbers();
  if (getTensorType(op.getStartIndices()).getRank() > 1 ||
      numbers.getIndexVectorDim() != 0)
    return failure();
  auto indices = getConstantIntegers(op.getStartIndices());
  if (!indices || indices->size() != numbers.getStartIndexMap().size() ||
      !numbers.getOperandBatchingDims().empty() || !from.hasStaticShape() ||
      !to.hasStaticShape())
    return failure();

  SmallVector<int64_t> starts(from.getRank(), 0);
  for (auto [index, dim] :
       llvm::zip_equal(*indices, numbers.getStartIndexMap()))
    starts[dim] = std::clamp<int64_t>(
        index, 0, from.getDimSize(dim) - op.getSliceSizes()[dim]);
  SmallVector<int64_t> limits;
  for (auto [start, size] : llvm::zip_equal(starts, op.getSliceSizes()))
    limits.push_back(start + size);
  auto window = from.clone(op.getSliceSizes());
  if (!haveAsManyElements(window, to))
    return failure();
  auto slice =
      SliceOp::create(rewriter, op.getLoc(), window, op.getOperand(), starts,
                      limits, SmallVector<int64_t>(starts.size(), 1));
  if (window == to)
    replaceKeepingAttrs(rewriter, op, slice->getResult(0));
  else
    replaceByNewOp<ReshapeOp>(rewriter, op, slice->getResult(0));
  return success();
}

void mlir::stablehlo::populateDynamicToStatic(RewritePatternSet &patterns) {
  patterns.add(makeSlice);
  patterns.add(makeStridedSlice);
  patterns.add(makePad);
  patterns.add(makeIota);
  patterns.add(makeReshape);
  patterns.add(makeBroadcast);
  patterns.add(makeGather);
  patterns.add(makeSliceOfGather);
}
