//===- PreOrderFuncs.cpp --------------------------------------------------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// Propagation visits functions in the order of the module. With callers first,
// a callee sees what is known about its arguments.
//
// The order is a reverse post-order of the call graph that keeps functions
// which do not call each other as they were.
//
//===----------------------------------------------------------------------===//

#include "meshwright/Dialect/Sdy/Calls/CallOrder.h"

#define GEN_PASS_DEF_PREORDERFUNCSPASS
#include "meshwright/Dialect/Sdy/Calls/Passes.h"

using namespace mlir;
using namespace mlir::sdy;

namespace {
struct PreOrderFuncsPass : sdy::impl::PreOrderFuncsPassBase<PreOrderFuncsPass> {
  void runOnOperation() override {
    ModuleOp module = getOperation();
    meshwright::CallOrder order =
        meshwright::getCallOrder(module, SymbolTable(module), isFuncCall);
    auto callersFirst = llvm::reverse(order.calleesFirst);
    if (llvm::equal(callersFirst, module.getOps<func::FuncOp>()))
      return;
    for (func::FuncOp func : callersFirst)
      func->moveBefore(module.getBody(), module.getBody()->end());
    numFunctions += order.calleesFirst.size();
  }
};
} // namespace
