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

#include "meshwright/Dialect/Sdy/Transforms/Passes.h"
#include "mlir/IR/SymbolTable.h"
#include "llvm/ADT/DenseSet.h"

namespace mlir::sdy {
#define GEN_PASS_DEF_PREORDERFUNCSPASS
#include "meshwright/Dialect/Sdy/Transforms/Passes.h.inc"
} // namespace mlir::sdy

using namespace mlir;
using namespace mlir::sdy;

namespace {

class CallOrder {
public:
  explicit CallOrder(ModuleOp module) : symbols(module) {
    auto funcs = llvm::to_vector(module.getOps<func::FuncOp>());
    for (func::FuncOp func : llvm::reverse(funcs))
      visit(func);
    std::reverse(order.begin(), order.end());
  }

  ArrayRef<func::FuncOp> get() const { return order; }

private:
  /// Adds a function behind all its callees. Calls have their own stack, which
  /// bounds the depth whatever the program.
  void visit(func::FuncOp root) {
    if (!visited.insert(root).second)
      return;
    SmallVector<std::pair<func::FuncOp, SmallVector<func::FuncOp>>> stack;
    stack.push_back({root, getCallees(root)});
    while (!stack.empty()) {
      SmallVector<func::FuncOp> &callees = stack.back().second;
      if (callees.empty()) {
        order.push_back(stack.pop_back_val().first);
        continue;
      }
      func::FuncOp callee = callees.pop_back_val();
      if (visited.insert(callee).second)
        stack.push_back({callee, getCallees(callee)});
    }
  }

  SmallVector<func::FuncOp> getCallees(func::FuncOp func) {
    SmallVector<func::FuncOp> callees;
    func.walk<WalkOrder::PreOrder>([&](func::CallOp call) {
      if (auto callee = symbols.lookup<func::FuncOp>(call.getCallee()))
        callees.push_back(callee);
    });
    return callees;
  }

  SymbolTable symbols;
  DenseSet<Operation *> visited; // Membership only: its order never shows.
  SmallVector<func::FuncOp> order;
};

struct PreOrderFuncsPass : sdy::impl::PreOrderFuncsPassBase<PreOrderFuncsPass> {
  using Base::Base;

  void runOnOperation() override {
    ModuleOp module = getOperation();
    CallOrder order(module);
    if (llvm::equal(order.get(), module.getOps<func::FuncOp>()))
      return;
    for (func::FuncOp func : order.get())
      func->moveBefore(module.getBody(), module.getBody()->end());
  }
};

} // namespace
