//===- EraseUnusedCalleeBlockArguments.cpp --------------------------------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// A loop body that became a callee hands values on which it does not compute
// with. They are taken out of the call:
//
//   %0:2 = call @f(%x, %y)
//   func private @f(%a, %b) {%1 = abs %b; return %a, %1}
//   // becomes, with uses of %0#0 redirected to %x
//   %0 = call @f(%y)
//   func private @f(%b) {%1 = abs %b; return %1}
//
//===----------------------------------------------------------------------===//

#include "meshwright/Dialect/Mpmd/Effects.h"
#include "meshwright/Dialect/Mpmd/Fragments.h"
#include "meshwright/Dialect/Mpmd/Functions.h"
#include "meshwright/IR/RebuildOp.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/PatternMatch.h"
#include "llvm/ADT/BitVector.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/STLExtras.h"

#define GEN_PASS_DEF_ERASEUNUSEDCALLEEBLOCKARGUMENTSPASS
#include "meshwright/Import/Place/Passes.h"

using namespace mlir;
using namespace mlir::mpmd;

namespace {
/// What the callers of a function need not give and get.
struct Unused {
  BitVector arguments;
  BitVector results;
};
} // namespace

/// Whether the signature of `func` may change: all references to it are calls
/// that fit, and one of them has a result that is used.
static bool isRewritable(func::FuncOp func,
                         const FunctionReferences &references) {
  auto fits = [&](CallOp call) {
    return call->getNumOperands() == func.getNumArguments() &&
           call->getNumResults() == func.getNumResults();
  };
  // COMPAT(unread-calls): A call without a used result does not count.
  auto isLive = [](CallOp call) {
    auto caller = call->getParentOfType<func::FuncOp>();
    return !call->use_empty() && caller && isMpmdFunction(caller);
  };
  return func.isPrivate() && isMpmdFunction(func) && getReturnOp(func) &&
         !references.hasOther && llvm::all_of(references.calls, fits) &&
         llvm::any_of(references.calls, isLive);
}

static Unused findUnused(func::FuncOp func) {
  Unused found{BitVector(func.getNumArguments()),
               BitVector(func.getNumResults())};
  Operation *terminator = func.front().getTerminator();
  for (BlockArgument argument : func.getArguments()) {
    auto isReturn = [&](OpOperand &use) {
      return use.getOwner() == terminator;
    };
    if (!llvm::all_of(argument.getUses(), isReturn))
      continue;
    found.arguments.set(argument.getArgNumber());
    for (OpOperand &use : argument.getUses())
      found.results.set(use.getOperandNumber());
  }
  return found;
}

/// Redirects the uses of results that are an argument to what is passed for it.
static void bypass(CallOp call, func::FuncOp callee, const BitVector &results,
                   RewriterBase &rewriter) {
  Operation *terminator = callee.front().getTerminator();
  for (unsigned index : results.set_bits()) {
    auto argument = cast<BlockArgument>(terminator->getOperand(index));
    rewriter.replaceAllUsesWith(call->getResult(index),
                                call->getOperand(argument.getArgNumber()));
  }
}

static void rebuildCall(CallOp call, const Unused &unused,
                        RewriterBase &rewriter) {
  SmallVector<Value> operands, results;
  for (auto [index, operand] : llvm::enumerate(call->getOperands()))
    if (!unused.arguments[index])
      operands.push_back(operand);
  for (auto [index, result] : llvm::enumerate(call->getResults()))
    if (!unused.results[index])
      results.push_back(result);
  Operation *rebuilt =
      rebuildOp(call, operands, TypeRange(ValueRange(results)), rewriter);
  dropArgAttrs(rebuilt, unused.arguments);
  dropResAttrs(rebuilt, unused.results);
  for (auto [result, replacement] :
       llvm::zip_equal(results, rebuilt->getResults()))
    rewriter.replaceAllUsesWith(result, replacement);
  rewriter.eraseOp(call);
}

static LogicalResult shrinkSignature(func::FuncOp func, const Unused &unused) {
  func.front().getTerminator()->eraseOperands(unused.results);
  return success(succeeded(func.eraseResults(unused.results)) &&
                 succeeded(func.eraseArguments(unused.arguments)));
}

namespace {
struct EraseUnusedCalleeBlockArgumentsPass
    : mpmd::impl::EraseUnusedCalleeBlockArgumentsPassBase<
          EraseUnusedCalleeBlockArgumentsPass> {
  void runOnOperation() override {
    ModuleOp module = getOperation();
    DenseMap<StringAttr, FunctionReferences> references =
        collectFunctionReferences(module);
    CalleeEffects effects;
    IRRewriter rewriter(&getContext());
    for (auto func : llvm::make_early_inc_range(module.getOps<func::FuncOp>()))
      if (auto it = references.find(func.getSymNameAttr());
          it != references.end() && isRewritable(func, it->second))
        if (failed(shrink(func, it->second.calls, effects, rewriter)))
          return signalPassFailure();
  }

private:
  LogicalResult shrink(func::FuncOp func, ArrayRef<CallOp> calls,
                       CalleeEffects &effects, RewriterBase &rewriter) {
    Unused unused = findUnused(func);
    if (unused.arguments.none())
      return success();
    numArguments += unused.arguments.count();
    numResults += unused.results.count();
    for (CallOp call : calls)
      bypass(call, func, unused.results, rewriter);
    // What the function does beside returning results is done all the same.
    if (unused.results.all() && !effects.hasEffects(calls.front())) {
      for (CallOp call : calls)
        rewriter.eraseOp(call);
      rewriter.eraseOp(func);
      return success();
    }
    for (CallOp call : calls)
      rebuildCall(call, unused, rewriter);
    return shrinkSignature(func, unused);
  }
};
} // namespace
