//===- ShapeIdentities.cpp - Movements that cancel or do nothing ----------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

#include "meshwright/Dialect/StableHLO/Transforms/OptimizationPatterns.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SmallVectorExtras.h"

using namespace mlir;
using namespace mlir::stablehlo;

/// Whether operand and result have one static type, and may be one value.
static bool keepsStaticType(Operation *op) {
  Type type = op->getResult(0).getType();
  return !isStartedAsynchronously(op) && op->getOperand(0).getType() == type &&
         cast<RankedTensorType>(type).hasStaticShape();
}

static LogicalResult forwardOperand(Operation *op, PatternRewriter &rewriter) {
  replaceKeepingAttrs(rewriter, op, op->getOperand(0));
  return success();
}

static bool isIdentity(ArrayRef<int64_t> dims) {
  return llvm::all_of(llvm::enumerate(dims), [](auto entry) {
    return static_cast<int64_t>(entry.index()) == entry.value();
  });
}

//===----------------------------------------------------------------------===//
// Ops that do nothing
//===----------------------------------------------------------------------===//

// Pattern: convert(x) -> x, reshape(x) -> x, slice(x) -> x, to the type of x
template <typename OpT>
static LogicalResult forwardIfSameType(OpT op, PatternRewriter &rewriter) {
  return keepsStaticType(op) ? forwardOperand(op, rewriter) : failure();
}

// Pattern: pad(x) by nothing -> x
static LogicalResult forwardUnpadded(PadOp op, PatternRewriter &rewriter) {
  auto isZero = [](int64_t size) { return size == 0; };
  if (!keepsStaticType(op) || !llvm::all_of(op.getEdgePaddingLow(), isZero) ||
      !llvm::all_of(op.getEdgePaddingHigh(), isZero))
    return failure();
  return forwardOperand(op, rewriter);
}

// Pattern: reverse(x) along dimensions of size 1 -> x
static LogicalResult forwardUnreversed(ReverseOp op,
                                       PatternRewriter &rewriter) {
  RankedTensorType type = getTensorType(op.getOperand());
  if (!keepsStaticType(op) ||
      !llvm::all_of(op.getDimensions(),
                    [&](int64_t dim) { return type.getDimSize(dim) == 1; }))
    return failure();
  return forwardOperand(op, rewriter);
}

// Pattern: dynamic_update_slice(x, y, zeros) -> y, if y is all of x
static LogicalResult forwardWholeUpdate(DynamicUpdateSliceOp op,
                                        PatternRewriter &rewriter) {
  if (!keepsStaticType(op) ||
      op.getUpdate().getType() != op->getResult(0).getType() ||
      !llvm::all_of(op.getStartIndices(), isConstantZero))
    return failure();
  replaceKeepingAttrs(rewriter, op, op.getUpdate());
  return success();
}

// Pattern: set_dimension_size(x, constant) to the size it has -> x
static LogicalResult forwardUnresized(SetDimensionSizeOp op,
                                      PatternRewriter &rewriter) {
  auto size = getConstantIntegers(op.getSize());
  if (!size || !keepsStaticType(op) ||
      size->front() !=
          getTensorType(op.getOperand()).getDimSize(op.getDimension()))
    return failure();
  return forwardOperand(op, rewriter);
}

//===----------------------------------------------------------------------===//
// Reshape, transpose, broadcast
//===----------------------------------------------------------------------===//

/// Whether the scales lie along a dimension: a reshape must keep what lies
/// before it.
static bool isQuantizedPerAxis(RankedTensorType type) {
  return getElementKind(type.getElementType()) == kAxisQuantized;
}

// Pattern: reshape(reshape(x)) -> reshape(x)
static LogicalResult mergeReshapes(ReshapeOp op, PatternRewriter &rewriter) {
  auto inner = op.getOperand().getDefiningOp<ReshapeOp>();
  // Sizes on both sides fit each other only through one that is known.
  if (!inner || !getTensorType(inner->getResult(0)).hasStaticShape())
    return failure();
  replaceByNewOp<ReshapeOp>(rewriter, op, inner.getOperand());
  return success();
}

// Pattern: transpose(x) to the same order -> x
// Pattern: transpose(x) that moves only dimensions of size 1 -> reshape(x)
static LogicalResult simplifyTranspose(TransposeOp op,
                                       PatternRewriter &rewriter) {
  RankedTensorType type = getTensorType(op.getOperand());
  if (isIdentity(op.getPermutation()) &&
      op.getOperand().getType() == op->getResult(0).getType())
    return forwardOperand(op, rewriter);
  if (!type.hasStaticShape() || isQuantizedPerAxis(type) ||
      !getTensorType(op->getResult(0)).hasStaticShape())
    return failure();
  auto moved = llvm::filter_to_vector(op.getPermutation(), [&](int64_t dim) {
    return type.getDimSize(dim) != 1;
  });
  if (!llvm::is_sorted(moved))
    return failure();
  replaceByNewOp<ReshapeOp>(rewriter, op, op.getOperand());
  return success();
}

// Pattern: transpose(transpose(x)) -> transpose(x)
static LogicalResult mergeTransposes(TransposeOp op,
                                     PatternRewriter &rewriter) {
  auto inner = op.getOperand().getDefiningOp<TransposeOp>();
  if (!inner)
    return failure();
  auto permutation = llvm::map_to_vector(op.getPermutation(), [&](int64_t dim) {
    return inner.getPermutation()[dim];
  });
  TransposeOp::Properties properties;
  properties.permutation = rewriter.getDenseI64ArrayAttr(permutation);
  if (!canReplace<TransposeOp>(op, inner.getOperand(), properties))
    return failure();
  replaceByNewOp<TransposeOp>(rewriter, op, inner.getOperand(), permutation);
  return success();
}

// Pattern: broadcast_in_dim(broadcast_in_dim(x)) -> broadcast_in_dim(x)
static LogicalResult mergeBroadcasts(BroadcastInDimOp op,
                                     PatternRewriter &rewriter) {
  auto inner = op.getOperand().getDefiningOp<BroadcastInDimOp>();
  if (!inner || !getTensorType(inner->getResult(0)).hasStaticShape())
    return failure();
  auto dims =
      llvm::map_to_vector(inner.getBroadcastDimensions(), [&](int64_t dim) {
        return op.getBroadcastDimensions()[dim];
      });
  replaceByNewOp<BroadcastInDimOp>(rewriter, op, inner.getOperand(), dims);
  return success();
}

// Pattern: broadcast_in_dim(x) to the same type and order -> x
// Pattern: broadcast_in_dim(x) of as many elements -> reshape(x), or
// transpose(x) if the order of dimensions changes
static LogicalResult simplifyBroadcast(BroadcastInDimOp op,
                                       PatternRewriter &rewriter) {
  RankedTensorType from = getTensorType(op.getOperand());
  RankedTensorType to = getTensorType(op->getResult(0));
  ArrayRef<int64_t> dims = op.getBroadcastDimensions();
  if (!haveAsManyElements(from, to) ||
      from.getElementType() != to.getElementType())
    return failure();
  if (isIdentity(dims) && from == to)
    return forwardOperand(op, rewriter);
  if (isQuantizedPerAxis(from))
    return failure();
  if (llvm::is_sorted(dims)) {
    replaceByNewOp<ReshapeOp>(rewriter, op, op.getOperand());
    return success();
  }
  if (from.getRank() != to.getRank())
    return failure();
  SmallVector<int64_t> permutation(dims.size());
  for (auto [operandDim, resultDim] : llvm::enumerate(dims))
    permutation[resultDim] = operandDim;
  replaceByNewOp<TransposeOp>(rewriter, op, op.getOperand(), permutation);
  return success();
}

// Pattern: iota of several dimensions -> broadcast_in_dim(iota of one)
static LogicalResult narrowIota(IotaOp op, PatternRewriter &rewriter) {
  RankedTensorType type = getTensorType(op->getResult(0));
  if (type.getRank() < 2)
    return failure();
  auto dim = static_cast<int64_t>(op.getIotaDimension());
  auto lineType =
      RankedTensorType::get({type.getDimSize(dim)}, type.getElementType());
  auto line = IotaOp::create(rewriter, op.getLoc(), lineType, uint64_t(0));
  replaceByNewOp<BroadcastInDimOp>(rewriter, op, line->getResult(0),
                                   ArrayRef<int64_t>{dim});
  return success();
}

void mlir::stablehlo::populateShapeIdentities(RewritePatternSet &patterns) {
  patterns.add(forwardIfSameType<ConvertOp>);
  patterns.add(forwardIfSameType<ReshapeOp>);
  patterns.add(forwardIfSameType<SliceOp>);
  patterns.add(forwardUnpadded);
  patterns.add(forwardUnreversed);
  patterns.add(forwardWholeUpdate);
  patterns.add(forwardUnresized);
  // Chains first, so that only their ends are looked at.
  patterns.add(mergeReshapes, /*benefit=*/2);
  patterns.add(mergeTransposes, /*benefit=*/2);
  patterns.add(simplifyTranspose);
  patterns.add(mergeBroadcasts);
  patterns.add(simplifyBroadcast);
  patterns.add(narrowIota);
}
