//===- LiftArgumentConstraints.cpp ----------------------------------------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// What closes the sharding of an argument steps between the argument and all that
// reads it (sdy-apply-sharding-constraints). The argument is each fragment's own,
// so the constraint must be, too:
//
//   fragment (%x) (%a) {%r = custom_call @mpmd.shared_body(%a); return %r}
//   func private @shared_body(%a) {%c = sharding_constraint %a; sine %c; …}
//   // becomes
//   fragment (%x) (%a) {%c = sharding_constraint %a
//                       %r = custom_call @mpmd.shared_body(%c); return %r}
//   func private @shared_body(%a) {sine %a; …}
//
//===----------------------------------------------------------------------===//

#include "meshwright/Dialect/Sdy/Shardings.h"
#include "meshwright/Fragments/SharedBodies.h"
#include "llvm/ADT/BitVector.h"
#include "llvm/ADT/STLExtras.h"

#define GEN_PASS_DEF_LIFTARGUMENTCONSTRAINTSPASS
#include "meshwright/Fragments/Share/Passes.h"

using namespace mlir;
using namespace mlir::mpmd;

using sdy::ShardingConstraintOp;
using stablehlo::CustomCallOp;

static unsigned getNumber(ShardingConstraintOp constraint) {
  return cast<BlockArgument>(constraint.getInput()).getArgNumber();
}

/// The first constraint of each argument whose constraints are all alike and closed,
/// also of those in loops and branches.
static SmallVector<ShardingConstraintOp> listConstraints(func::FuncOp body) {
  SmallVector<ShardingConstraintOp> firsts(body.getNumArguments());
  BitVector isContradicted(body.getNumArguments());
  body.walk([&](ShardingConstraintOp constraint) {
    auto argument = dyn_cast<BlockArgument>(constraint.getInput());
    if (!argument || argument.getOwner() != &body.front())
      return;
    ShardingConstraintOp &first = firsts[argument.getArgNumber()];
    if (!first)
      first = constraint;
    if (!constraint.getSharding().isFullyClosed() ||
        first.getSharding() != constraint.getSharding())
      isContradicted.set(argument.getArgNumber());
  });
  llvm::erase_if(firsts, [&](ShardingConstraintOp first) {
    return !first || isContradicted[getNumber(first)];
  });
  return firsts;
}

/// Which constraints a fragment has to have itself. Nothing if it reads one of
/// their arguments elsewhere, too.
static std::optional<SmallVector<bool>>
findLiftable(CustomCallOp call, ArrayRef<ShardingConstraintOp> constraints) {
  SmallVector<bool> liftable;
  for (ShardingConstraintOp constraint : constraints) {
    Value operand = call.getOperand(getNumber(constraint));
    if (!isa<BlockArgument>(operand) || !operand.hasOneUse())
      return std::nullopt;
    liftable.push_back(!sdy::getSharding(operand));
  }
  return liftable;
}

/// Lets what reads a constraint read its argument, in the order in which it would
/// if the constraint were on the argument: that of other readers first.
static void replaceByArgument(ShardingConstraintOp constraint) {
  Value argument = constraint.getInput();
  SmallVector<OpOperand *> uses;
  for (Value value : {argument, Value(constraint)})
    for (OpOperand &use : value.getUses())
      if (use.getOwner() != constraint)
        uses.push_back(&use);
  constraint->dropAllReferences();
  // The last that is set comes first, and calls are looked through from the last.
  for (OpOperand *use : uses)
    use->set(argument);
  constraint.erase();
}

namespace {
struct LiftArgumentConstraintsPass
    : mpmd::impl::LiftArgumentConstraintsPassBase<LiftArgumentConstraintsPass> {
  void runOnOperation() override {
    IRRewriter rewriter(&getContext());
    numInlined += changeSharedBodies(
        getOperation(), rewriter,
        [&](func::FuncOp body, ArrayRef<CustomCallOp> calls) {
          return lift(body, calls, rewriter);
        });
  }

private:
  unsigned lift(func::FuncOp body, ArrayRef<CustomCallOp> calls,
                IRRewriter &rewriter) {
    SmallVector<ShardingConstraintOp> constraints = listConstraints(body);
    if (constraints.empty())
      return 0;
    auto alike = keepAlikeCalls<SmallVector<bool>>(
        calls, rewriter,
        [&](CustomCallOp call) { return findLiftable(call, constraints); });
    if (alike.calls.empty())
      return alike.numInlined;
    for (auto [constraint, isLiftable] : llvm::zip(constraints, *alike.common))
      if (isLiftable)
        lift(constraint, alike.calls, rewriter);
    return alike.numInlined;
  }

  void lift(ShardingConstraintOp constraint, ArrayRef<CustomCallOp> calls,
            IRRewriter &rewriter) {
    for (CustomCallOp call : calls) {
      OpOperand &operand = call->getOpOperand(getNumber(constraint));
      rewriter.setInsertionPoint(call);
      auto lifted = cast<ShardingConstraintOp>(rewriter.clone(*constraint));
      lifted.getInputMutable().assign(operand.get());
      operand.set(lifted);
    }
    replaceByArgument(constraint);
    ++numLifted;
  }
};
} // namespace
