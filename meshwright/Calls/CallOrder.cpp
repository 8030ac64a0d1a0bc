//===- CallOrder.cpp - Which functions call which -------------------------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

#include "meshwright/Calls/CallOrder.h"
#include "llvm/ADT/DenseSet.h"

using namespace mlir;
using namespace meshwright;

func::FuncOp meshwright::getCallee(CallOpInterface call,
                                   const SymbolTable &symbols) {
  auto name = dyn_cast_if_present<SymbolRefAttr>(call.getCallableForCallee());
  if (!name || !name.getNestedReferences().empty() ||
      SymbolTable::getNearestSymbolTable(call) != symbols.getOp())
    return {};
  return symbols.lookup<func::FuncOp>(name.getRootReference());
}

namespace {

/// A depth-first search with a stack of its own, so that the depth of the
/// program does not matter. Upstream's `CallGraph` neither gives the ops that
/// call nor separates the calls that count from others.
class CallSearch {
public:
  CallSearch(ModuleOp module, const SymbolTable &symbols, CallFilter isCounted)
      : symbols(symbols), isCounted(isCounted) {
    auto funcs = llvm::to_vector(module.getOps<func::FuncOp>());
    for (func::FuncOp func : llvm::reverse(funcs))
      visit(func);
  }

  CallOrder order;

private:
  struct Frame {
    func::FuncOp func;
    SmallVector<CallOpInterface> calls;
  };

  void visit(func::FuncOp root) {
    SmallVector<Frame> stack;
    enter(root, stack);
    while (!stack.empty()) {
      SmallVector<CallOpInterface> &calls = stack.back().calls;
      if (calls.empty()) {
        open.erase(stack.back().func);
        order.calleesFirst.push_back(stack.pop_back_val().func);
        continue;
      }
      CallOpInterface call = calls.pop_back_val();
      func::FuncOp callee = getCallee(call, symbols);
      if (!callee)
        continue;
      if (open.contains(callee))
        order.recursiveCalls.push_back(call);
      enter(callee, stack);
    }
  }

  void enter(func::FuncOp func, SmallVectorImpl<Frame> &stack) {
    if (!visited.insert(func).second)
      return;
    open.insert(func);
    stack.push_back({func, {}});
    func.walk<WalkOrder::PreOrder>([&](Operation *op) {
      if (isCounted(op))
        stack.back().calls.push_back(cast<CallOpInterface>(op));
    });
    order.hasCalls |= !stack.back().calls.empty();
  }

  const SymbolTable &symbols;
  CallFilter isCounted;
  // Membership only: their order never shows.
  DenseSet<Operation *> visited, open;
};

} // namespace

CallOrder meshwright::getCallOrder(ModuleOp module, const SymbolTable &symbols,
                                   CallFilter isCounted) {
  return std::move(CallSearch(module, symbols, isCounted).order);
}
