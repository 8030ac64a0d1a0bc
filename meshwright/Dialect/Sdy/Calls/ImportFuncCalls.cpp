//===- ImportFuncCalls.cpp ------------------------------------------------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// A call hides what happens to its operands. As a named computation it is an op
// with a body, and data-flow edges lead in and out.
//
// Callers are taken first: a copy is made of the body that the callee had in
// the beginning, then the calls in the copy are imported in turn. So what is
// written down is what stays, and functions that only such calls refer to are
// not touched.
//
//===----------------------------------------------------------------------===//

#include "meshwright/Dialect/Sdy/Calls/CallOrder.h"
#include "meshwright/Dialect/Sdy/Shardings.h"
#include "meshwright/Dialect/Sdy/Transforms/AddDataFlowEdges.h"
#include "meshwright/IR/SymbolUses.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/Interfaces/CallInterfaces.h"
#include "mlir/Transforms/InliningUtils.h"

#define GEN_PASS_DEF_IMPORTFUNCCALLSPASS
#include "meshwright/Dialect/Sdy/Calls/Passes.h"

using namespace mlir;
using namespace mlir::sdy;

/// One list of all shardings, or null if there are none at all.
static TensorShardingPerValueAttr
joinShardings(TypeRange types, SmallVector<TensorShardingAttr> shardings,
              func::FuncOp func) {
  if (!fillShardings(shardings, types, func))
    return {};
  return TensorShardingPerValueAttr::get(func.getContext(), shardings);
}

static TensorShardingPerValueAttr getInShardings(func::FuncOp func) {
  return joinShardings(func.getArgumentTypes(),
                       llvm::map_to_vector(llvm::seq(func.getNumArguments()),
                                           [&](unsigned index) {
                                             return getArgSharding(func, index);
                                           }),
                       func);
}

static TensorShardingPerValueAttr getOutShardings(func::CallOp call,
                                                  func::FuncOp func) {
  if (auto shardings =
          call->getAttrOfType<TensorShardingPerValueAttr>(kShardingAttr))
    return shardings;
  return joinShardings(func.getResultTypes(),
                       llvm::map_to_vector(llvm::seq(func.getNumResults()),
                                           [&](unsigned index) {
                                             return getResultSharding(func,
                                                                      index);
                                           }),
                       func);
}

/// Takes away the edges of values that no longer cross the border of a function.
static void dropFuncEdges(ValueRange values, RewriterBase &rewriter) {
  for (Value value : values)
    for (Operation *user : llvm::make_early_inc_range(value.getUsers()))
      if (auto edge = dyn_cast<FuncDataFlowEdgeOp>(user))
        rewriter.replaceOp(edge, value);
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
  dropFuncEdges(computation.getBody().getArguments(), rewriter);
  dropFuncEdges(computation.getResults(), rewriter);
  return computation;
}

/// Printing, and much else, goes down into regions by recursion.
static constexpr unsigned kMaxDepth = 10000;

namespace {
struct ImportFuncCallsPass
    : sdy::impl::ImportFuncCallsPassBase<ImportFuncCallsPass> {
  using Base::Base;

  void runOnOperation() override {
    SymbolTable symbols(getOperation());
    FailureOr<meshwright::CallOrder> order =
        getOrderOfInlining(getOperation(), symbols, maxInlinedOps);
    if (failed(order))
      return signalPassFailure();
    // Finding the uses of symbols reads every attribute of a program.
    if (!order->hasCalls)
      return markAllAnalysesPreserved();
    findKept();
    DenseSet<Operation *> dead = findDead(symbols);
    for (func::FuncOp func : order->calleesFirst)
      if (!dead.contains(func) && failed(importCallsIn(func, symbols)))
        return signalPassFailure();
  }

private:
  struct OpenCall {
    func::CallOp call;
    unsigned depth;
  };

  void findKept() {
    kept.clear();
    getOperation().walk([&](CallOpInterface call) {
      if (!isFuncCall(call))
        kept.insert(call->getParentOfType<func::FuncOp>());
    });
    // Asked as when the body of a function came into a computation.
    OperationState state(getOperation().getLoc(),
                         NamedComputationOp::getOperationName());
    state.addRegion();
    OwningOpRef<Operation *> computation = Operation::create(state);
    Region *inside = &computation.get()->getRegion(0);
    IRMapping mapping;
    for (auto func : getOperation().getOps<func::FuncOp>())
      func.walk([&](Operation *op) {
        auto *interface =
            dyn_cast_or_null<DialectInlinerInterface>(op->getDialect());
        if (op != func && interface &&
            !interface->isLegalToInline(op, inside, /*wouldBeCloned=*/true,
                                        mapping))
          kept.insert(func);
      });
  }

  /// The function whose body is copied for `call`; null if the call stays.
  func::FuncOp getImported(func::CallOp call, const SymbolTable &symbols) {
    func::FuncOp callee = getCallee(call, symbols);
    // Only a single block can be the body of an op.
    bool isBody =
        callee && callee.getBody().hasOneBlock() &&
        isa<func::ReturnOp, sdy::ReturnOp>(callee.front().getTerminator());
    return isBody && !kept.contains(callee) ? callee : func::FuncOp();
  }

  /// The private functions that nothing but imported calls refers to.
  DenseSet<Operation *> findDead(const SymbolTable &symbols) {
    DenseSet<Operation *> called;
    DenseMap<StringAttr, int64_t> numOtherUses;
    std::optional<SymbolTable::UseRange> uses =
        meshwright::findSymbolUses(getOperation().getBodyRegion());
    if (!uses)
      return {};
    for (const SymbolTable::SymbolUse &use : *uses)
      ++numOtherUses[use.getSymbolRef().getRootReference()];
    getOperation().walk([&](func::CallOp call) {
      func::FuncOp callee = getImported(call, symbols);
      if (!callee || callee.isPublic())
        return;
      called.insert(callee);
      --numOtherUses[callee.getNameAttr()];
    });
    DenseSet<Operation *> dead;
    for (Operation *callee : called)
      if (numOtherUses[cast<func::FuncOp>(callee).getNameAttr()] == 0)
        dead.insert(callee);
    return dead;
  }

  /// Calls are taken in the order of the program, each with those that come
  /// with it.
  LogicalResult importCallsIn(func::FuncOp func, const SymbolTable &symbols) {
    IRRewriter rewriter(&getContext());
    SmallVector<OpenCall> open;
    auto addCalls = [&](Operation *root, unsigned depth) {
      size_t first = open.size();
      root->walk([&](func::CallOp call) { open.push_back({call, depth}); });
      std::reverse(open.begin() + first, open.end());
    };
    addCalls(func, 1);
    while (!open.empty()) {
      auto [call, depth] = open.pop_back_val();
      func::FuncOp callee = getImported(call, symbols);
      if (!callee)
        continue;
      if (depth > kMaxDepth)
        return call.emitError() << "calls are nested more than " << kMaxDepth
                                << " deep; let a function do what many that "
                                   "call each other do";
      if (failed(verifyManualAxes(call, callee)))
        return failure();
      NamedComputationOp computation = importCall(call, callee, rewriter);
      addCalls(computation, depth + 1);
      if (addDataFlowEdgesOnNamedComputations)
        addDataFlowEdges(computation, rewriter);
      ++numCalls;
    }
    return success();
  }

  /// Functions with ops that may need one, such as calls of other dialects.
  DenseSet<Operation *> kept;
};
} // namespace
