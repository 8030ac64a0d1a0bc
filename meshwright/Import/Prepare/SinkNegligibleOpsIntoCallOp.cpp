//===- SinkNegligibleOpsIntoCallOp.cpp - Constants move into callees ------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// A constant that all calls of a function pass to the same argument would
// travel to the callee's mesh as a value. Recomputing it there is cheaper:
//
//   %k = constant                        mpmd.call @f(%x)
//   mpmd.call @f(%x, %k)     becomes     func @f(%p) {
//   func @f(%p, %q) { … %q … }             %k = constant … %k …
//
// Per callee: find the arguments that may go, clone their ops into the callee,
// drop the arguments there and at the calls, and clean up the callers.
//
//===----------------------------------------------------------------------===//

#include "meshwright/Dialect/Mpmd/Effects.h"
#include "meshwright/Dialect/Mpmd/Fragments.h"
#include "meshwright/Dialect/Mpmd/Functions.h"
#include "meshwright/Dialect/Mpmd/MpmdDialect.h"
#include "meshwright/IR/OutsideReads.h"
#include "mlir/IR/PatternMatch.h"
#include "mlir/Transforms/RegionUtils.h"
#include "llvm/ADT/BitVector.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/SetVector.h"

#define GEN_PASS_DEF_SINKNEGLIGIBLEOPSINTOCALLOPPASS
#include "meshwright/Import/Prepare/Passes.h"

using namespace mlir;
using namespace mlir::mpmd;

/// The op to clone for argument `index` of the function that `calls` name; null
/// if the calls disagree or the op reads something of the caller.
static Operation *findSinkableOp(ArrayRef<CallOp> calls, unsigned index) {
  auto getOperand = [&](CallOp call) -> Value {
    return index < call->getNumOperands() ? call->getOperand(index) : Value();
  };
  Value value = getOperand(calls.front());
  Operation *op = value ? value.getDefiningOp() : nullptr;
  if (!op || !isNegligibleOp(op))
    return nullptr;
  for (CallOp call : calls.drop_front())
    if (getOperand(call) != value)
      return nullptr;
  return getCaptures(op).empty() ? op : nullptr;
}

/// Replaces arguments of `callee` by clones of ops of its callers and returns
/// which ones; they are still in the signature.
static BitVector sinkIntoCallee(func::FuncOp callee, ArrayRef<CallOp> calls) {
  BitVector sunk(callee.getNumArguments());
  OpBuilder builder = OpBuilder::atBlockBegin(&callee.front());
  for (BlockArgument argument : callee.getArguments()) {
    Operation *op = findSinkableOp(calls, argument.getArgNumber());
    if (!op)
      continue;
    argument.replaceAllUsesWith(builder.clone(*op)->getResult(0));
    sunk.set(argument.getArgNumber());
  }
  return sunk;
}

static void eraseOperands(CallOp call, const BitVector &erased) {
  BitVector ofCall = erased;
  ofCall.resize(call->getNumOperands());
  dropArgAttrs(call, ofCall);
  call->eraseOperands(ofCall);
}

/// Calls that sinking does not look at keep their operands, unless these no
/// longer fit what is left of the signature of `callee`.
static void repairOtherCall(CallOp call, func::FuncOp callee,
                            const BitVector &erased) {
  for (auto [operand, type] :
       llvm::zip(call->getOperands(), callee.getArgumentTypes()))
    if (operand.getType() != type)
      return eraseOperands(call, erased);
}

/// Whether anything but `calls` has a say in what the callee gets: another way
/// of calling it, or a call that is read where no MPMD function makes it.
static bool hasOtherReader(const FunctionReferences &references,
                           ArrayRef<CallOp> calls) {
  auto isRead = [](CallOp call) { return !call->use_empty(); };
  return references.hasOther || llvm::count_if(references.calls, isRead) >
                                    llvm::count_if(calls, isRead);
}

namespace {
struct SinkNegligibleOpsIntoCallOpPass
    : mpmd::impl::SinkNegligibleOpsIntoCallOpPassBase<
          SinkNegligibleOpsIntoCallOpPass> {
  void runOnOperation() override {
    ModuleOp module = getOperation();
    CallGraph callGraph(module);
    CalleeEffects effects;
    DenseMap<StringAttr, FunctionReferences> references =
        collectFunctionReferences(module);

    IRRewriter rewriter(&getContext());
    for (func::FuncOp callee : module.getOps<func::FuncOp>()) {
      if (callee.isDeclaration() || !isMpmdFunction(callee))
        continue;
      // Cleaning up after another callee may have removed readers since the
      // graph was made.
      SmallVector<CallOp> calls;
      llvm::copy_if(callGraph.getCalls(callee), std::back_inserter(calls),
                    [&](CallOp call) {
                      // COMPAT(unread-calls): One that is not read, and does
                      // nothing else, does not count.
                      return !call->use_empty() || effects.hasEffects(call);
                    });
      auto it = references.find(callee.getSymNameAttr());
      if (calls.empty() || it == references.end() ||
          hasOtherReader(it->second, calls))
        continue;
      BitVector sunk = sinkIntoCallee(callee, calls);
      if (sunk.none() || failed(callee.eraseArguments(sunk)))
        continue;
      numArguments += sunk.count();

      SetVector<Operation *> callers;
      for (CallOp call : calls) {
        eraseOperands(call, sunk);
        callers.insert(call->getParentOfType<func::FuncOp>());
      }
      for (CallOp call : it->second.calls)
        repairOtherCall(call, callee, sunk);
      for (Operation *caller : callers)
        (void)runRegionDCE(rewriter, caller->getRegions());
    }
  }
};
} // namespace
