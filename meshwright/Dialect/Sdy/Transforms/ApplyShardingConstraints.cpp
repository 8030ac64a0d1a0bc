//===- ApplyShardingConstraints.cpp ---------------------------------------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// A constraint says how its operand is to be split, so a value that may still
// be split any way takes the sharding of the constraint at once. Values at the
// end of a data-flow edge have one sharding for all ends; there the constraint
// rather steps between the value and its uses:
//
//   %1 = sdy.data_flow_edge %0                %1 = sdy.data_flow_edge %0
//   %2 = stablehlo.sine %1            becomes %2 = sdy.sharding_constraint %1 …
//   %3 = sdy.sharding_constraint %1 …         %3 = stablehlo.sine %2
//
// Operands of manual computations count as constrained by their in-shardings. What is
// constrained after the arguments of a shared body is in the fragments that call
// it (mpmd-lift-argument-constraints).
//
//===----------------------------------------------------------------------===//

#include "meshwright/Dialect/Sdy/SdyDialect.h"
#include "meshwright/Dialect/Sdy/Shardings.h"
#include "meshwright/Dialect/Sdy/SharedBodyCall.h"
#include "mlir/IR/Builders.h"

#define GEN_PASS_DEF_APPLYSHARDINGCONSTRAINTSPASS
#include "meshwright/Dialect/Sdy/Transforms/Passes.h"

using namespace mlir;
using namespace mlir::sdy;

/// The sharding that a use requires of its value; null for other uses.
static TensorShardingAttr getRequiredSharding(OpOperand &use) {
  if (auto constraint = dyn_cast<ShardingConstraintOp>(use.getOwner()))
    return constraint.getSharding();
  if (auto manual = dyn_cast<ManualComputationOp>(use.getOwner()))
    return manual.getInShardings().getShardings()[use.getOperandNumber()];
  return {};
}

//===----------------------------------------------------------------------===//
// Chains
//===----------------------------------------------------------------------===//

/// The end of a chain of constraints that only read each other; the constraint
/// itself if it is no chain.
static ShardingConstraintOp getEndOfChain(ShardingConstraintOp head) {
  ShardingConstraintOp last = head;
  while (last->hasOneUse()) {
    auto next = dyn_cast<ShardingConstraintOp>(*last->user_begin());
    if (!next || next == head) // Of each other, in a graph region.
      break;
    last = next;
  }
  return last;
}

/// Lets what reads the value after a chain read the end of the chain. The
/// value has no sharding, and the head of the chain is its only constraint.
static void redirectToChain(ShardingConstraintOp head) {
  ShardingConstraintOp last = getEndOfChain(head);
  Value value = head.getInput();
  if (last == head || getSharding(value))
    return;
  for (OpOperand &use : value.getUses())
    if (use.getOwner() != head && getRequiredSharding(use))
      return;
  value.replaceUsesWithIf(last, [&](OpOperand &use) {
    if (use.getOwner() == head || isa<func::ReturnOp>(use.getOwner()))
      return false;
    Operation *ancestor =
        last->getBlock()->findAncestorOpInBlock(*use.getOwner());
    return ancestor && last->isBeforeInBlock(ancestor);
  });
}

//===----------------------------------------------------------------------===//
// Single constraints
//===----------------------------------------------------------------------===//

static bool isOfSharedBody(Value value) {
  auto argument = dyn_cast<BlockArgument>(value);
  auto func =
      argument
          ? dyn_cast_or_null<func::FuncOp>(argument.getOwner()->getParentOp())
          : func::FuncOp();
  return func && sdy::isSharedBody(func);
}

static bool isOnEdge(Value value) {
  return value.getDefiningOp<DataFlowEdgeOp>() || getEdgeOwner(value);
}

/// Puts what a use requires right after its value, for all other uses too.
static void constrainAtSource(OpOperand &use, TensorShardingAttr required) {
  Value value = use.get();
  auto constraint = dyn_cast<ShardingConstraintOp>(use.getOwner());
  OpBuilder builder(value.getContext());
  builder.setInsertionPointAfterValue(value);
  if (!constraint)
    constraint = ShardingConstraintOp::create(builder, use.getOwner()->getLoc(),
                                              value, required);
  else if (builder.getInsertionPoint() != constraint->getIterator())
    constraint->moveBefore(builder.getInsertionBlock(),
                           builder.getInsertionPoint());
  value.replaceAllUsesExcept(constraint, constraint);
  if (required.getUnreducedAxes().empty())
    return;
  setSharding(value,
              TensorShardingAttr::getFullyOpenLike(value.getType(), required)
                  .replaceUnreducedAxes(required.getUnreducedAxes(),
                                        required.getReductionKind()));
}

/// Whether a use is checked against the sharding of its value, and cannot be with
/// the required one.
static bool conflictsWith(OpOperand &use, TensorShardingAttr required) {
  if (isCollective(use.getOwner()))
    return true;
  auto reshard = dyn_cast<ReshardOp>(use.getOwner());
  return reshard && !required.getUnreducedAxes().empty() &&
         !reshard.getSharding().getUnreducedAxes().empty() &&
         required.getReductionKind() !=
             reshard.getSharding().getReductionKind();
}

/// Returns whether the value got a sharding.
static bool applyConstraint(OpOperand &use) {
  TensorShardingAttr required = getRequiredSharding(use);
  Value value = use.get();
  if (!required || !required.isFullyClosed() || !canHaveSharding(value) ||
      isOfSharedBody(value) || getSharding(value))
    return false;
  for (OpOperand &other : value.getUses())
    if (TensorShardingAttr otherSharding = getRequiredSharding(other);
        (otherSharding && otherSharding != required) ||
        conflictsWith(other, required))
      return false;
  if (isOnEdge(value))
    constrainAtSource(use, required);
  else
    setSharding(value, required);
  return true;
}

namespace {
struct ApplyShardingConstraintsPass
    : sdy::impl::ApplyShardingConstraintsPassBase<
          ApplyShardingConstraintsPass> {
  void runOnOperation() override {
    SmallVector<Operation *> ops;
    getOperation().walk([&](Operation *op) {
      if (isa<ShardingConstraintOp, ManualComputationOp>(op))
        ops.push_back(op);
    });
    for (Operation *op : ops) {
      if (auto constraint = dyn_cast<ShardingConstraintOp>(op))
        redirectToChain(constraint);
      for (OpOperand &operand : op->getOpOperands())
        numApplied += applyConstraint(operand);
    }
  }
};
} // namespace
