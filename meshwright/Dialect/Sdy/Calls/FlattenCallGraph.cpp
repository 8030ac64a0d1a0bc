//===- FlattenCallGraph.cpp -----------------------------------------------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// Two calls of a function may want its arguments sharded differently, so each
// call gets a function of its own. The first call, in the order in which the
// program runs, keeps the function itself; the clones remember whose they are,
// for sdy-unflatten-call-graph.
//
//===----------------------------------------------------------------------===//

#include "meshwright/Dialect/Sdy/Calls/CallOrder.h"
#include "meshwright/Dialect/Sdy/SdyDialect.h"
#include "llvm/ADT/DenseSet.h"

#define GEN_PASS_DEF_FLATTENCALLGRAPHPASS
#include "meshwright/Dialect/Sdy/Calls/Passes.h"

using namespace mlir;
using namespace mlir::sdy;

namespace {

class Flattener {
public:
  explicit Flattener(SymbolTable &symbols) : symbols(symbols) {}

  /// Goes through the given functions, then through all clones. Returns the
  /// number of these.
  unsigned run(ArrayRef<func::FuncOp> callersFirst) {
    for (func::FuncOp func : callersFirst)
      separateCalls(func);
    // The list grows.
    for (size_t i = 0; i < clones.size(); ++i)
      separateCalls(clones[i]);
    return clones.size();
  }

private:
  void separateCalls(func::FuncOp func) {
    func.walk<WalkOrder::PreOrder>([&](func::CallOp call) {
      func::FuncOp callee = getCallee(call, symbols);
      if (!callee || callee.isDeclaration())
        return;
      // A public function may be called from elsewhere.
      if (!callee.isPublic() && taken.insert(callee).second)
        return;
      call.setCallee(clone(callee).getName());
    });
  }

  func::FuncOp clone(func::FuncOp func) {
    func::FuncOp copy = func.clone();
    copy.setPrivate();
    if (!copy->hasAttr(kOriginalFuncNameAttr))
      copy->setAttr(kOriginalFuncNameAttr, func.getNameAttr());
    symbols.insert(copy);
    taken.insert(copy);
    clones.push_back(copy);
    return copy;
  }

  SymbolTable &symbols;
  DenseSet<Operation *> taken; // Membership only: its order never shows.
  SmallVector<func::FuncOp> clones;
};

struct FlattenCallGraphPass
    : sdy::impl::FlattenCallGraphPassBase<FlattenCallGraphPass> {
  using Base::Base;

  void runOnOperation() override {
    // A program that says itself what is a clone may be wrong.
    for (auto func : getOperation().getOps<func::FuncOp>())
      func->removeAttr(kOriginalFuncNameAttr);
    SymbolTable symbols(getOperation());
    FailureOr<meshwright::CallOrder> order =
        getOrderOfInlining(getOperation(), symbols, maxInlinedOps);
    if (failed(order))
      return signalPassFailure();
    if (!order->hasCalls)
      return;
    std::reverse(order->calleesFirst.begin(), order->calleesFirst.end());
    numClones += Flattener(symbols).run(order->calleesFirst);
  }
};

} // namespace
