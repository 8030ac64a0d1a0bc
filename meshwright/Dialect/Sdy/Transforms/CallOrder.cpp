//===- CallOrder.cpp - Which functions call which -------------------------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

#include "meshwright/Dialect/Sdy/Transforms/CallOrder.h"
#include "llvm/ADT/DenseSet.h"

using namespace mlir;
using namespace mlir::sdy;

func::FuncOp mlir::sdy::getCallee(func::CallOp call,
                                  const SymbolTable &symbols) {
  return symbols.lookup<func::FuncOp>(call.getCallee());
}

namespace {

/// A depth-first search with a stack of its own, so that the depth of the
/// program does not matter.
class CallSearch {
public:
  CallSearch(ModuleOp module, const SymbolTable &symbols) : symbols(symbols) {
    auto funcs = llvm::to_vector(module.getOps<func::FuncOp>());
    for (func::FuncOp func : llvm::reverse(funcs))
      visit(func);
  }

  CallOrder order;

private:
  struct Frame {
    func::FuncOp func;
    SmallVector<func::CallOp> calls;
  };

  void visit(func::FuncOp root) {
    SmallVector<Frame> stack;
    enter(root, stack);
    while (!stack.empty()) {
      SmallVector<func::CallOp> &calls = stack.back().calls;
      if (calls.empty()) {
        open.erase(stack.back().func);
        order.calleesFirst.push_back(stack.pop_back_val().func);
        continue;
      }
      func::CallOp call = calls.pop_back_val();
      func::FuncOp callee = getCallee(call, symbols);
      if (!callee)
        continue;
      if (open.contains(callee) && !order.recursiveCall)
        order.recursiveCall = call;
      enter(callee, stack);
    }
  }

  void enter(func::FuncOp func, SmallVectorImpl<Frame> &stack) {
    if (!visited.insert(func).second)
      return;
    open.insert(func);
    stack.push_back({func, {}});
    func.walk<WalkOrder::PreOrder>(
        [&](func::CallOp call) { stack.back().calls.push_back(call); });
  }

  const SymbolTable &symbols;
  // Membership only: their order never shows.
  DenseSet<Operation *> visited, open;
};

} // namespace

CallOrder mlir::sdy::getCallOrder(ModuleOp module, const SymbolTable &symbols) {
  return std::move(CallSearch(module, symbols).order);
}

FailureOr<CallOrder>
mlir::sdy::getCallOrderWithoutRecursion(ModuleOp module,
                                        const SymbolTable &symbols) {
  CallOrder order = getCallOrder(module, symbols);
  if (!order.recursiveCall)
    return order;
  func::CallOp call = order.recursiveCall;
  InFlightDiagnostic diag =
      call.emitError() << "recursive call of @" << call.getCallee()
                       << "; shardings can only be propagated through calls "
                          "that end";
  diag.attachNote(getCallee(call, symbols).getLoc())
      << "this function calls itself, directly or through others";
  return diag;
}
