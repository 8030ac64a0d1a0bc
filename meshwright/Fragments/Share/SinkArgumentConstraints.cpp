//===- SinkArgumentConstraints.cpp ----------------------------------------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// The inverse of mpmd-lift-argument-constraints:
//
//   fragment (%x) (%a) {%c = sharding_constraint %a
//                       %r = custom_call @mpmd.shared_body(%c); return %r}
//   func private @shared_body(%a) {sine %a; …}
//   // becomes
//   fragment (%x) (%a) {%r = custom_call @mpmd.shared_body(%a); return %r}
//   func private @shared_body(%a) {%c = sharding_constraint %a; sine %c; …}
//
//===----------------------------------------------------------------------===//

#include "meshwright/Fragments/SharedBodies.h"

#define GEN_PASS_DEF_SINKARGUMENTCONSTRAINTSPASS
#include "meshwright/Fragments/Share/Passes.h"

using namespace mlir;
using namespace mlir::mpmd;

using sdy::ShardingConstraintOp;
using stablehlo::CustomCallOp;

/// What is in the fragment and constrains an operand.
static ShardingConstraintOp getConstraint(Value operand) {
  return operand.getDefiningOp<ShardingConstraintOp>();
}

/// The sharding that each operand is constrained to, null for none; nothing if the
/// constraint of one is not of an argument, or is read elsewhere, too.
static std::optional<SmallVector<Attribute>>
findConstraints(CustomCallOp call) {
  SmallVector<Attribute> constraints;
  for (Value operand : call.getOperands()) {
    ShardingConstraintOp constraint = getConstraint(operand);
    if (constraint && (!isa<BlockArgument>(constraint.getInput()) ||
                       !constraint->hasOneUse()))
      return std::nullopt;
    constraints.push_back(constraint ? constraint->getAttrDictionary()
                                     : Attribute());
  }
  return constraints;
}

namespace {
struct SinkArgumentConstraintsPass
    : mpmd::impl::SinkArgumentConstraintsPassBase<SinkArgumentConstraintsPass> {
  void runOnOperation() override {
    IRRewriter rewriter(&getContext());
    numInlined += changeSharedBodies(
        getOperation(), rewriter,
        [&](func::FuncOp body, ArrayRef<CustomCallOp> calls) {
          return sink(body, calls, rewriter);
        });
  }

private:
  unsigned sink(func::FuncOp body, ArrayRef<CustomCallOp> calls,
                IRRewriter &rewriter) {
    if (llvm::none_of(calls, [](CustomCallOp call) {
          return llvm::any_of(call.getOperands(), getConstraint);
        }))
      return 0;
    auto [kept, common, inlined] = keepAlikeCalls<SmallVector<Attribute>>(
        calls, rewriter, findConstraints);
    if (kept.empty())
      return inlined;
    putIntoBody(body, kept.front(), rewriter);
    for (CustomCallOp call : kept)
      for (OpOperand &operand : call->getOpOperands())
        if (ShardingConstraintOp constraint = getConstraint(operand.get())) {
          operand.set(constraint.getInput());
          rewriter.eraseOp(constraint);
        }
    return inlined;
  }

  /// In the order in which they are in the fragment.
  void putIntoBody(func::FuncOp body, CustomCallOp call, IRRewriter &rewriter) {
    rewriter.setInsertionPointToStart(&body.front());
    for (Operation &op : *call->getBlock()) {
      auto constraint = dyn_cast<ShardingConstraintOp>(op);
      if (!constraint || !constraint->hasOneUse() ||
          *constraint->user_begin() != call)
        continue;
      unsigned number = constraint->use_begin()->getOperandNumber();
      BlockArgument argument = body.getArgument(number);
      auto sunk = cast<ShardingConstraintOp>(rewriter.clone(op));
      sunk.getInputMutable().assign(argument);
      argument.replaceAllUsesExcept(sunk, sunk);
      ++numSunk;
    }
  }
};
} // namespace
