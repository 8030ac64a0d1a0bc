//===- ConcatenateAndSlice.cpp - Pieces put together and cut out ----------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

#include "meshwright/Dialect/StableHLO/Transforms/OptimizationPatterns.h"
#include "llvm/ADT/SmallVectorExtras.h"

using namespace mlir;
using namespace mlir::stablehlo;

// Pattern: concatenate(x) -> x
static LogicalResult forwardOnlyPiece(ConcatenateOp op,
                                      PatternRewriter &rewriter) {
  if (op.getInputs().size() != 1 ||
      op.getInputs().front().getType() != op->getResult(0).getType())
    return failure();
  replaceKeepingAttrs(rewriter, op, op.getInputs().front());
  return success();
}

// Pattern: concatenate(x, empty, y) -> concatenate(x, y)
static LogicalResult dropEmptyPieces(ConcatenateOp op,
                                     PatternRewriter &rewriter) {
  auto kept = llvm::filter_to_vector(op.getInputs(), [&](Value input) {
    return getTensorType(input).getDimSize(op.getDimension()) != 0;
  });
  if (kept.empty() || kept.size() == op.getInputs().size())
    return failure();
  replaceByNewOp<ConcatenateOp>(rewriter, op, kept, op.getDimension());
  return success();
}

// Pattern: concatenate(concatenate(x, y), z) -> concatenate(x, y, z), along one
// dimension, if nothing else reads the inner one
static LogicalResult flattenConcatenate(ConcatenateOp op,
                                        PatternRewriter &rewriter) {
  SmallVector<Value> inputs;
  bool changed = false;
  for (Value input : op.getInputs()) {
    auto inner = input.getDefiningOp<ConcatenateOp>();
    if (inner && inner->hasOneUse() &&
        inner.getDimension() == op.getDimension()) {
      llvm::append_range(inputs, inner.getInputs());
      changed = true;
    } else {
      inputs.push_back(input);
    }
  }
  if (!changed || !canReplace<ConcatenateOp>(op, inputs, op.getProperties()))
    return failure();
  replaceByNewOp<ConcatenateOp>(rewriter, op, inputs, op.getDimension());
  return success();
}

// Pattern: slice(concatenate(x, y, z)) -> slice(concatenate(x, y)), of only the
// pieces that it covers; if these are several, only if nothing else reads all
static LogicalResult sliceCoveredPieces(SliceOp op, PatternRewriter &rewriter) {
  auto concat = op.getOperand().getDefiningOp<ConcatenateOp>();
  if (!concat || !getTensorType(concat->getResult(0)).hasStaticShape())
    return failure();
  int64_t dim = concat.getDimension();
  int64_t start = op.getStartIndices()[dim], limit = op.getLimitIndices()[dim];

  SmallVector<Value> covered;
  int64_t begin = 0, size = 0, coveredBegin = 0;
  for (Value input : concat.getInputs()) {
    if (!getTensorType(input).hasStaticShape())
      return failure();
    int64_t end = begin + getTensorType(input).getDimSize(dim);
    if (begin < limit && start < end) {
      if (covered.empty())
        coveredBegin = begin;
      covered.push_back(input);
      size += end - begin;
    }
    begin = end;
  }
  if (covered.empty() || covered.size() == concat.getInputs().size() ||
      (covered.size() > 1 && !concat->hasOneUse()))
    return failure();

  Value pieces = covered.front();
  if (covered.size() > 1) {
    SmallVector<int64_t> shape(getTensorType(pieces).getShape());
    shape[dim] = size;
    pieces =
        ConcatenateOp::create(rewriter, concat.getLoc(),
                              getTensorType(pieces).clone(shape), covered, dim);
  }
  SmallVector<int64_t> starts(op.getStartIndices()),
      limits(op.getLimitIndices());
  starts[dim] -= coveredBegin;
  limits[dim] -= coveredBegin;
  replaceByNewOp<SliceOp>(rewriter, op, pieces, starts, limits,
                          op.getStrides());
  return success();
}

void mlir::stablehlo::populateConcatenateAndSlice(RewritePatternSet &patterns) {
  patterns.add(forwardOnlyPiece);
  patterns.add(dropEmptyPieces);
  patterns.add(flattenConcatenate);
  patterns.add(sliceCoveredPieces);
}
