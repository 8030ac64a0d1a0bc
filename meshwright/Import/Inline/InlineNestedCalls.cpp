//===- InlineNestedCalls.cpp ----------------------------------------------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// A call is one microbatch, and a schedule orders microbatches of one level. So
// calls in calls are inlined, from the outside in, and of the counters on the
// way the outermost counts:
//
//   main: call @f(%x)                         main: call @g(%x) {counter = 0}
//   @f:   call @g {counter = 0}                     call @g(%y) {counter = 1}
//         call @g {counter = 1}     becomes         tanh
//         tanh
//
//   main: call @f(%x) {counter = 3}           main: call @f(%x) {counter = 3}
//   @f:   call @g {counter = 0}     becomes   @f:   body of g; tanh
//         tanh
//
// In the first case the outer call says nothing, and its callee is copied to
// where it is. In the second all that the callee computes, at any depth, is
// microbatch 3: the callee takes in what it calls. A call in a loop is like the
// second, as the loop will count it.
//
//===----------------------------------------------------------------------===//

#include "meshwright/Calls/CallOrder.h"
#include "meshwright/Dialect/Mpmd/Fragments.h"
#include "meshwright/Dialect/Mpmd/Functions.h"
#include "meshwright/IR/SymbolUses.h"
#include "meshwright/Import/Inline/CallInliner.h"

#define GEN_PASS_DEF_INLINENESTEDCALLSPASS
#include "meshwright/Import/Inline/Passes.h"

using namespace mlir;
using namespace mlir::mpmd;

static bool isMpmdCall(Operation *op) { return isa<CallOp>(op); }

static bool isCounted(CallOp call) {
  return call->hasAttr(kCallCounterAttr) || call->getParentOfType<ForOp>();
}

namespace {
struct InlineNestedCallsPass
    : mpmd::impl::InlineNestedCallsPassBase<InlineNestedCallsPass> {
  using Base::Base;

  void runOnOperation() override {
    inlined.clear();
    SymbolTable symbols(getOperation());
    // Membership only: their order never shows.
    DenseSet<Operation *> callees, callers;
    getOperation().walk([&](CallOp call) {
      callees.insert(meshwright::getCallee(call, symbols));
      callers.insert(call->getParentOfType<func::FuncOp>());
    });
    if (llvm::none_of(callees,
                      [&](Operation *func) { return callers.contains(func); }))
      return markAllAnalysesPreserved();
    auto isEntry = [&](func::FuncOp func) {
      return !callees.contains(func) || isEntryPointFunction(func);
    };

    meshwright::CallOrder order =
        meshwright::getCallOrder(getOperation(), symbols, isMpmdCall);
    CallInliner inliner({/*markNestedLocs=*/false, maxInlinedOps});
    // The functions that calls of an entry still call when it is done.
    DenseSet<Operation *> targets;
    for (func::FuncOp func : llvm::reverse(order.calleesFirst)) {
      if (!isEntry(func))
        continue;
      auto isKept = [&](CallOp call) {
        func::FuncOp callee = meshwright::getCallee(call, symbols);
        bool isKept = !callee || isCounted(call) || !callers.contains(callee);
        if (isKept)
          targets.insert(callee);
        return isKept;
      };
      if (failed(inlineCallsIn(func, isKept, inliner)))
        return signalPassFailure();
    }
    // Calls in modules within the functions are none of this program.
    auto isExternal = [&](CallOp call) {
      return !meshwright::getCallee(call, symbols);
    };
    // A callee that is copied is as it will stay.
    for (func::FuncOp func : order.calleesFirst)
      if (targets.contains(func) && !isEntry(func) &&
          failed(inlineCallsIn(func, isExternal, inliner)))
        return signalPassFailure();
    eraseDissolved(order);
  }

private:
  /// Erases the private functions that only inlined calls referred to: no
  /// call makes them part of the program any more.
  void eraseDissolved(const meshwright::CallOrder &order) {
    std::optional<SymbolTable::UseRange> uses =
        meshwright::findSymbolUses(getOperation().getBodyRegion());
    if (!uses)
      return;
    DenseMap<StringAttr, unsigned> numUses;
    for (const SymbolTable::SymbolUse &use : *uses)
      ++numUses[use.getSymbolRef().getRootReference()];
    for (func::FuncOp func : llvm::reverse(order.calleesFirst)) {
      if (!func.isPrivate() || !inlined.contains(func.getNameAttr()) ||
          numUses.lookup(func.getNameAttr()) > 0)
        continue;
      auto usesInBody = meshwright::findSymbolUses(func.getBody());
      for (const SymbolTable::SymbolUse &use : *usesInBody)
        --numUses[use.getSymbolRef().getRootReference()];
      func.erase();
    }
  }

  /// Takes the calls in the order of the program, each with those that come
  /// with it.
  LogicalResult inlineCallsIn(func::FuncOp func,
                              function_ref<bool(CallOp)> isKept,
                              CallInliner &inliner) {
    SmallVector<CallOp> open;
    func.walk([&](CallOp call) { open.push_back(call); });
    std::reverse(open.begin(), open.end());
    while (!open.empty()) {
      CallOp call = open.pop_back_val();
      if (isKept(call))
        continue;
      SmallVector<NamedAttribute> attributes =
          llvm::to_vector(call->getDiscardableAttrs());
      SmallVector<CallOp> copied;
      auto onCopy = [&](Operation *op) {
        if (isa<CallOp, FragmentOp, FragmentCallOp>(op))
          giveDiscardableAttrs(attributes, op);
        if (auto nested = dyn_cast<CallOp>(op))
          copied.push_back(nested);
      };
      inlined.insert(call.getCalleeAttr().getAttr());
      if (failed(inliner.run(call, onCopy)))
        return failure();
      ++numCalls;
      llvm::append_range(open, llvm::reverse(copied));
    }
    return success();
  }

  DenseSet<StringAttr> inlined; // Membership only.
};
} // namespace
