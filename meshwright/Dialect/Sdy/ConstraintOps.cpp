//===- ConstraintOps.cpp - Constraints, reshards, barriers ----------------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

#include "meshwright/Dialect/Sdy/AxisAlgebra.h"
#include "meshwright/Dialect/Sdy/SdyDialect.h"
#include "meshwright/Dialect/Sdy/ShardingVerification.h"
#include "meshwright/Dialect/Sdy/Shardings.h"
#include "meshwright/Dialect/StableHLO/StablehloDialect.h"
#include "mlir/IR/PatternMatch.h"

using namespace mlir;
using namespace mlir::sdy;

//===----------------------------------------------------------------------===//
// Verification
//===----------------------------------------------------------------------===//

/// The sharding of what an op reads, maybe through barriers.
static TensorShardingAttr getInputSharding(Value input, Operation *reader) {
  // Barriers that read each other would be followed forever.
  while (auto barrier = input.getDefiningOp<PropagationBarrierOp>()) {
    if (!isVerifiedBefore(input, reader))
      return {};
    reader = barrier;
    input = barrier.getInput();
  }
  return getShardingToVerify(input, reader);
}

static bool wasUnreduced(AxisRefAttr axis, TensorShardingAttr input) {
  return llvm::any_of(input.getUnreducedAxes(), [&](AxisRefAttr before) {
    return contains(before, axis);
  });
}

/// New unreduced axes hold partial sums; the others are reduced as before.
static ReductionKind getExpectedKind(AxisRefAttr axis,
                                     TensorShardingAttr input) {
  return wasUnreduced(axis, input) ? input.getReductionKind()
                                   : ReductionKind::Sum;
}

/// An unreduced axis that must be of another kind, after a value of sharding
/// `input`; null if there is none, or nothing is known of the value.
static AxisRefAttr findWrongKind(TensorShardingAttr input,
                                 TensorShardingAttr sharding) {
  if (input)
    for (AxisRefAttr axis : sharding.getUnreducedAxes())
      if (getExpectedKind(axis, input) != sharding.getReductionKind())
        return axis;
  return {};
}

static LogicalResult verifyNewSharding(Operation *op, Value input,
                                       TensorShardingAttr sharding) {
  auto emitError = [&] { return op->emitOpError(); };
  if (failed(verifySharding(input.getType(), sharding, op, emitError)))
    return failure();
  if (sharding.getUnreducedAxes().empty())
    return success();
  TensorShardingAttr before = getInputSharding(input, op);
  if (AxisRefAttr axis = findWrongKind(before, sharding))
    return emitError() << (wasUnreduced(axis, before) ? "unreduced axis "
                                                      : "newly unreduced axis ")
                       << axis.toString() << " must keep reduction kind "
                       << stringifyReductionKind(getExpectedKind(axis, before))
                       << ", got "
                       << stringifyReductionKind(sharding.getReductionKind());
  return success();
}

LogicalResult ShardingConstraintOp::verify() {
  return verifyNewSharding(*this, getInput(), getSharding());
}

LogicalResult ReshardOp::verify() {
  return verifyNewSharding(*this, getInput(), getSharding());
}

LogicalResult PropagationBarrierOp::verify() {
  if (getAllowedDirection() == PropagationDirection::BOTH)
    return emitOpError() << "cannot have `BOTH` as its direction, which would "
                            "block nothing; remove the op instead";
  return success();
}

//===----------------------------------------------------------------------===//
// Canonicalization of reshard
//===----------------------------------------------------------------------===//

/// Pattern: reshard(reshard(x)) -> reshard(x), if nothing else reads between.
static LogicalResult skipReshard(ReshardOp op, PatternRewriter &rewriter) {
  auto inner = op.getInput().getDefiningOp<ReshardOp>();
  if (!inner || !inner->hasOneUse() || inner.getInput() == op.getResult())
    return failure();
  // What is reduced by one kind and then by another has to be reduced between.
  if (findWrongKind(getInputSharding(inner.getInput(), inner),
                    op.getSharding()))
    return failure();
  rewriter.modifyOpInPlace(
      op, [&] { op.getInputMutable().assign(inner.getInput()); });
  rewriter.eraseOp(inner);
  return success();
}

/// Where the dimensions of a value come from in the operand of a transpose or
/// of a reshape that only adds or drops dimensions of size 1; -1 for added
/// ones. Nothing for other ops.
static std::optional<SmallVector<int64_t>> getDimSources(Operation *op) {
  if (auto transpose = dyn_cast_or_null<stablehlo::TransposeOp>(op))
    return llvm::to_vector(transpose.getPermutation());
  auto reshape = dyn_cast_or_null<stablehlo::ReshapeOp>(op);
  if (!reshape)
    return std::nullopt;
  auto from = dyn_cast<RankedTensorType>(reshape->getOperand(0).getType());
  auto to = dyn_cast<RankedTensorType>(reshape->getResult(0).getType());
  if (!from || !to || !from.hasStaticShape() || !to.hasStaticShape())
    return std::nullopt;
  SmallVector<int64_t> sources;
  int64_t next = 0;
  auto skipOnes = [&] {
    while (next < from.getRank() && from.getDimSize(next) == 1)
      ++next;
  };
  for (int64_t size : to.getShape()) {
    if (size == 1) {
      sources.push_back(-1);
      continue;
    }
    skipOnes();
    if (next == from.getRank() || from.getDimSize(next) != size)
      return std::nullopt;
    sources.push_back(next++);
  }
  skipOnes();
  return next == from.getRank() ? std::optional(sources) : std::nullopt;
}

/// The sharding after a transpose or reshape. Null if an axis would be lost, or
/// if it is maximal and has no dimensions.
static TensorShardingAttr passThrough(TensorShardingAttr sharding,
                                      ArrayRef<int64_t> sources) {
  SmallVector<DimensionShardingAttr> dims;
  auto closed = DimensionShardingAttr::getClosed(sharding.getContext());
  for (int64_t source : sources) {
    if (source >= sharding.getRank())
      return {};
    dims.push_back(source < 0 ? closed : sharding.getDimShardings()[source]);
  }
  for (auto [index, dim] : llvm::enumerate(sharding.getDimShardings()))
    if (!dim.emptyAxes() &&
        !llvm::is_contained(sources, static_cast<int64_t>(index)))
      return {};
  return sharding.replaceDimShardings(dims);
}

/// A reshard before `op`, in its block, of the same value to a sharding that is
/// equivalent to `sharding`.
static ReshardOp findEarlierReshard(ReshardOp op, Value input,
                                    function_ref<bool(ReshardOp)> matches) {
  for (Operation *user : input.getUsers())
    if (auto other = dyn_cast<ReshardOp>(user);
        other && other != op && other->getBlock() == op->getBlock() &&
        other->isBeforeInBlock(op) && matches(other))
      return other;
  return {};
}

/// Pattern: two equivalent reshards of x -> one.
static LogicalResult shareReshard(ReshardOp op, PatternRewriter &rewriter) {
  ReshardOp other =
      findEarlierReshard(op, op.getInput(), [&](ReshardOp candidate) {
        return candidate.getSharding().isEquivalent(op.getSharding());
      });
  if (!other || !canReadInstead(op.getResult(), other.getResult()))
    return failure();
  rewriter.replaceOp(op, other);
  return success();
}

/// Pattern: reshard(transpose(x)) -> transpose(reshard(x)), if that reshard of
/// x exists before the transpose and is equivalent. Likewise for reshape.
static LogicalResult shareReshardThroughShape(ReshardOp op,
                                              PatternRewriter &rewriter) {
  Operation *shapeOp = op.getInput().getDefiningOp();
  auto sources = getDimSources(shapeOp);
  if (!sources || shapeOp->getBlock() != op->getBlock())
    return failure();
  ReshardOp other =
      findEarlierReshard(op, shapeOp->getOperand(0), [&](ReshardOp candidate) {
        TensorShardingAttr after =
            passThrough(candidate.getSharding(), *sources);
        return after && after.isEquivalent(op.getSharding());
      });
  if (!other)
    return failure();
  Operation *moved = rewriter.clone(*shapeOp);
  moved->setOperand(0, other);
  moved->setAttr(kShardingAttr, TensorShardingPerValueAttr::get(
                                    op.getContext(), op.getSharding()));
  rewriter.replaceOp(op, moved);
  return success();
}

/// Where a call was inlined no value crosses it any more. The inliner canonicalizes
/// its result before that is verified.
static LogicalResult dropEdgeOfNoCall(FuncDataFlowEdgeOp op,
                                      PatternRewriter &rewriter) {
  auto arg = dyn_cast<BlockArgument>(op.getInput());
  bool crosses =
      arg ? isa_and_nonnull<func::FuncOp>(arg.getOwner()->getParentOp()) &&
                arg.getOwner()->isEntryBlock()
          : isa<func::CallOp>(op.getInput().getDefiningOp());
  bool readsItself = op.getInput() == op.getResult(); // In a graph region.
  if (readsItself || (crosses && op.getInput().hasOneUse()))
    return failure();
  rewriter.replaceOp(op, op.getInput());
  return success();
}

void ReshardOp::getCanonicalizationPatterns(RewritePatternSet &patterns,
                                            MLIRContext *) {
  patterns.add(dropEdgeOfNoCall);
  patterns.add(skipReshard);
  patterns.add(shareReshard);
  patterns.add(shareReshardThroughShape);
}
