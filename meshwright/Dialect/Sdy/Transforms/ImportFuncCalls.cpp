//===- ImportFuncCalls.cpp ------------------------------------------------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// A call hides what happens to its operands. As a named computation it is an op
// with a body, and data-flow edges lead in and out.
//
// Functions are taken callees first, so that what is copied holds no more
// calls.
//
//===----------------------------------------------------------------------===//

#include "meshwright/Dialect/Sdy/Shardings.h"
#include "meshwright/Dialect/Sdy/Transforms/AddDataFlowEdges.h"
#include "meshwright/Dialect/Sdy/Transforms/CallOrder.h"
#include "meshwright/Dialect/Sdy/Transforms/Passes.h"
#include "mlir/IR/IRMapping.h"

namespace mlir::sdy {
#define GEN_PASS_DEF_IMPORTFUNCCALLSPASS
#include "meshwright/Dialect/Sdy/Transforms/Passes.h.inc"
} // namespace mlir::sdy

using namespace mlir;
using namespace mlir::sdy;

/// One list of all shardings, or null if there are none at all.
static TensorShardingPerValueAttr
joinShardings(TypeRange types, ArrayRef<TensorShardingAttr> shardings) {
  auto isThere = [](TensorShardingAttr sharding) { return !!sharding; };
  const TensorShardingAttr *first = llvm::find_if(shardings, isThere);
  if (first == shardings.end())
    return {};
  SmallVector<TensorShardingAttr> all;
  for (auto [type, sharding] : llvm::zip_equal(types, shardings))
    all.push_back(sharding
                      ? sharding
                      : TensorShardingAttr::getFullyOpenLike(type, *first));
  return TensorShardingPerValueAttr::get(first->getContext(), all);
}

static TensorShardingPerValueAttr getInShardings(func::FuncOp func) {
  return joinShardings(func.getArgumentTypes(),
                       llvm::map_to_vector(llvm::seq(func.getNumArguments()),
                                           [&](unsigned index) {
                                             return getArgSharding(func, index);
                                           }));
}

static TensorShardingPerValueAttr getOutShardings(func::CallOp call,
                                                  func::FuncOp func) {
  if (auto shardings =
          call->getAttrOfType<TensorShardingPerValueAttr>(kShardingAttr))
    return shardings;
  return joinShardings(
      func.getResultTypes(),
      llvm::map_to_vector(llvm::seq(func.getNumResults()), [&](unsigned index) {
        return getResultSharding(func, index);
      }));
}

/// Replaces a call by a named computation with a copy of the function's body.
static NamedComputationOp importCall(func::CallOp call, func::FuncOp func,
                                     RewriterBase &rewriter) {
  rewriter.setInsertionPoint(call);
  auto computation = NamedComputationOp::create(
      rewriter, call.getLoc(), call.getResultTypes(), func.getNameAttr(),
      call.getOperands(), getInShardings(func), getOutShardings(call, func));
  for (NamedAttribute attr : call->getDiscardableAttrs())
    if (attr.getName() != kShardingAttr)
      computation->setDiscardableAttr(attr.getName(), attr.getValue());
  if (Attribute original = func->getAttr(kOriginalFuncNameAttr))
    computation->setAttr(kOriginalFuncNameAttr, original);

  IRMapping mapping;
  func.getBody().cloneInto(&computation.getBody(), mapping);
  Operation *terminator = computation.getBodyTerminator();
  rewriter.setInsertionPoint(terminator);
  auto exit = sdy::ReturnOp::create(rewriter, terminator->getLoc(),
                                    terminator->getOperands());
  exit->setDiscardableAttrs(terminator->getDiscardableAttrDictionary());
  rewriter.eraseOp(terminator);
  rewriter.replaceOp(call, computation);
  return computation;
}

namespace {
struct ImportFuncCallsPass
    : sdy::impl::ImportFuncCallsPassBase<ImportFuncCallsPass> {
  using Base::Base;

  void runOnOperation() override {
    SymbolTable symbols(getOperation());
    FailureOr<CallOrder> order =
        getCallOrderWithoutRecursion(getOperation(), symbols);
    if (failed(order))
      return signalPassFailure();
    IRRewriter rewriter(&getContext());
    for (func::FuncOp func : order->calleesFirst)
      func.walk([&](func::CallOp call) {
        func::FuncOp callee = getCallee(call, symbols);
        // Only a single block can be the body of an op.
        if (!callee || !callee.getBody().hasOneBlock())
          return;
        NamedComputationOp computation = importCall(call, callee, rewriter);
        if (addDataFlowEdgesOnNamedComputations)
          addDataFlowEdges(computation, rewriter);
        ++numCalls;
      });
  }
};
} // namespace
