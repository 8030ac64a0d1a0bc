//===- EmptyTensors.cpp - Tensors without elements ------------------------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// All tensors of one type without elements are equal, so none needs computing,
// and what would take elements from one does without.
//
//===----------------------------------------------------------------------===//

#include "meshwright/Dialect/StableHLO/Transforms/OptimizationPatterns.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

using namespace mlir;
using namespace mlir::stablehlo;

/// Whether a type is known to have no elements.
static bool isEmpty(Type type) {
  auto tensor = dyn_cast<RankedTensorType>(type);
  return tensor && countElements(tensor.getShape()) == 0;
}

/// Whether a value could be a constant without elements but is not.
static bool isComputedEmpty(Value value) {
  return isEmpty(value.getType()) && !value.getDefiningOp<ConstantOp>() &&
         isa<IntegerType, FloatType, ComplexType>(
             getElementTypeOrSelf(value.getType()));
}

static Value createEmpty(Location loc, Type type, PatternRewriter &rewriter) {
  auto attr =
      DenseElementsAttr::getFromRawBuffer(cast<RankedTensorType>(type), {});
  return ConstantOp::create(rewriter, loc, type, attr)->getResult(0);
}

namespace {
// Pattern: op(empty x) -> op(empty constant)
// Pattern: op(x) that is empty -> empty constant
struct MakeEmptyConstants : RewritePattern {
  explicit MakeEmptyConstants(MLIRContext *context)
      : RewritePattern(MatchAnyOpTypeTag(), /*benefit=*/1, context) {}

  LogicalResult matchAndRewrite(Operation *op,
                                PatternRewriter &rewriter) const override {
    if (!isa_and_nonnull<StablehloDialect>(op->getDialect()) ||
        isa<ConstantOp>(op) ||
        // Most ops end here, before the checks that take longer.
        (llvm::none_of(op->getOperandTypes(), isEmpty) &&
         llvm::none_of(op->getResultTypes(), isEmpty)) ||
        isStartedAsynchronously(op) || !isMemoryEffectFree(op))
      return failure();
    bool changed = false;
    for (OpOperand &operand : op->getOpOperands()) {
      if (!isComputedEmpty(operand.get()))
        continue;
      Value empty =
          createEmpty(op->getLoc(), operand.get().getType(), rewriter);
      rewriter.modifyOpInPlace(op, [&] { operand.set(empty); });
      changed = true;
    }
    for (OpResult result : op->getResults()) {
      if (result.use_empty() || !isComputedEmpty(result))
        continue;
      rewriter.replaceAllUsesWith(
          result, createEmpty(op->getLoc(), result.getType(), rewriter));
      changed = true;
    }
    return success(changed);
  }
};
} // namespace

/// Whether a value is a scalar that broadcasts to a type as it is.
static bool canBroadcast(Value value, Type type) {
  auto tensor = cast<RankedTensorType>(type);
  return tensor.hasStaticShape() &&
         value.getType() == RankedTensorType::get({}, tensor.getElementType());
}

/// Creates a broadcast of a scalar.
static Value createBroadcast(Location loc, Type type, Value scalar,
                             PatternRewriter &rewriter) {
  return BroadcastInDimOp::create(rewriter, loc, type, scalar,
                                  ArrayRef<int64_t>())
      ->getResult(0);
}

// Pattern: pad(empty, x) -> broadcast_in_dim(x)
static LogicalResult broadcastPadding(PadOp op, PatternRewriter &rewriter) {
  if (!isEmpty(op.getOperand().getType()) ||
      isEmpty(op->getResult(0).getType()) ||
      !canBroadcast(op.getPaddingValue(), op->getResult(0).getType()))
    return failure();
  replaceKeepingAttrs(rewriter, op,
                      createBroadcast(op.getLoc(), op->getResult(0).getType(),
                                      op.getPaddingValue(), rewriter));
  return success();
}

// Pattern: reduce(empty, init = x) -> broadcast_in_dim(x)
static LogicalResult broadcastInitialValues(ReduceOp op,
                                            PatternRewriter &rewriter) {
  if (!isEmpty(op.getInputs().front().getType()) ||
      !llvm::all_of_zip(op.getInitValues(), op->getResultTypes(), canBroadcast))
    return failure();
  SmallVector<Value> broadcasts;
  for (auto [type, init] :
       llvm::zip_equal(op->getResultTypes(), op.getInitValues()))
    broadcasts.push_back(createBroadcast(op.getLoc(), type, init, rewriter));
  rewriter.replaceOp(op, broadcasts);
  return success();
}

// Pattern: dynamic_update_slice(x, empty) -> x
static LogicalResult dropEmptyUpdate(DynamicUpdateSliceOp op,
                                     PatternRewriter &rewriter) {
  if (isStartedAsynchronously(op) || !isEmpty(op.getUpdate().getType()) ||
      op.getOperand().getType() != op->getResult(0).getType())
    return failure();
  replaceKeepingAttrs(rewriter, op, op.getOperand());
  return success();
}

void mlir::stablehlo::populateEmptyTensors(RewritePatternSet &patterns) {
  patterns.add<MakeEmptyConstants>(patterns.getContext());
  patterns.add(broadcastPadding);
  patterns.add(broadcastInitialValues);
  patterns.add(dropEmptyUpdate);
}
