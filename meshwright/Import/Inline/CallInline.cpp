//===- CallInline.cpp -----------------------------------------------------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// Schedules order single fragments, so the body of a microbatch cannot stay
// in a callee. What the call says about itself, above all which microbatch it
// is, goes to the fragments of the body:
//
//   %0 = call @f(%x) {call_counter = 3 : ui32}
//   func private @f(%a) {%1 = fragment<"m", ["g"]> (%a) {...}; return %1}
//   // becomes
//   %0 = fragment<"m", ["g"]> (%x) {call_counter = 3 : ui32} {...}
//
// Upstream's inliner asks each dialect whether a call may be inlined, and mpmd
// answers no, because this pass must not be anticipated. It also moves the rest
// of the block away and back for each call.
//
//===----------------------------------------------------------------------===//

#include "meshwright/Dialect/Mpmd/MpmdDialect.h"
#include "meshwright/Import/Inline/CallInliner.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/SymbolTable.h"
#include "llvm/ADT/STLExtras.h"

#define GEN_PASS_DEF_CALLINLINEPASS
#include "meshwright/Import/Inline/Passes.h"

using namespace mlir;
using namespace mlir::mpmd;

/// Whether an op may be a table of symbols, which only its dialect knows.
/// What refers to which function is unknown then.
static bool hasUnknownSymbolTable(ModuleOp module) {
  WalkResult result = module.walk([](Operation *op) {
    return !op->getDialect() && op->getNumRegions() == 1
               ? WalkResult::interrupt()
               : WalkResult::advance();
  });
  return result.wasInterrupted();
}

/// The private functions that nothing refers to once `calls` are inlined. What
/// a copy calls is still needed.
static SmallVector<func::FuncOp> findDeadCallees(ModuleOp module,
                                                 ArrayRef<CallOp> calls) {
  if (hasUnknownSymbolTable(module))
    return {};
  DenseSet<Operation *> inlined;
  for (CallOp call : calls)
    inlined.insert(call);
  SymbolTableCollection symbolTables;
  SymbolUserMap users(symbolTables, module);
  auto isInlined = [&](Operation *user) { return inlined.contains(user); };
  auto isDead = [&](func::FuncOp func) {
    return func.isPrivate() && !users.useEmpty(func) &&
           llvm::all_of(users.getUsers(func), isInlined);
  };
  auto isCopied = [&](Operation *user) {
    auto caller = user->getParentOfType<func::FuncOp>();
    return llvm::any_of(users.getUsers(caller), isInlined);
  };
  SmallVector<func::FuncOp> dead;
  for (auto func : module.getOps<func::FuncOp>())
    if (isDead(func) && llvm::none_of(users.getUsers(func), isCopied))
      dead.push_back(func);
  return dead;
}

namespace {
struct CallInlinePass : mpmd::impl::CallInlinePassBase<CallInlinePass> {
  using Base::Base;

  void runOnOperation() override {
    SmallVector<CallOp> calls;
    getOperation().walk<WalkOrder::PreOrder>(
        [&](CallOp call) { calls.push_back(call); });
    SmallVector<func::FuncOp> dead;
    if (eraseCallees)
      dead = findDeadCallees(getOperation(), calls);

    CallInliner inliner({markNestedLocs, maxInlinedOps});
    for (CallOp call : calls)
      inliner.addChanging(call->getParentOfType<func::FuncOp>());
    for (CallOp call : calls) {
      auto giveAttributes = [attributes = llvm::to_vector(
                                 call->getDiscardableAttrs())](Operation *op) {
        if (isa<FragmentOp, FragmentCallOp>(op))
          giveDiscardableAttrs(attributes, op);
      };
      if (failed(inliner.run(call, giveAttributes)))
        return signalPassFailure();
      ++numCalls;
    }
    for (func::FuncOp callee : dead)
      callee.erase();
  }
};
} // namespace
