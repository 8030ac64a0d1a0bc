//===- PassedValues.cpp ---------------------------------------------------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

#include "meshwright/Partitioner/Explain/PassedValues.h"
#include "meshwright/Calls/CallOrder.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/ADT/SmallPtrSet.h"

using namespace mlir;
using namespace meshwright;

static func::ReturnOp getReturn(func::FuncOp func) {
  if (func.isExternal())
    return {};
  return dyn_cast<func::ReturnOp>(func.getBody().back().getTerminator());
}

PassedValues::PassedValues(ModuleOp module) : symbols(module) {
  auto isCall = [](Operation *op) { return isa<CallOpInterface>(op); };
  module.walk([&](CallOpInterface call) {
    if (func::FuncOp callee = getCallee(call, symbols))
      callsOf[callee].push_back(call);
  });
  // Callees come first, so that ways through several calls are known.
  for (func::FuncOp func : getCallOrder(module, symbols, isCall).calleesFirst) {
    func::ReturnOp end = getReturn(func);
    SmallVector<std::optional<unsigned>> args;
    for (unsigned index = 0; end && index < end.getNumOperands(); ++index) {
      Value value = end.getOperand(index);
      // Values that nothing reaches may read each other.
      SmallPtrSet<Operation *, 4> seen;
      while (auto result = dyn_cast<OpResult>(value)) {
        Value returned = getReturned(result);
        if (!returned || !seen.insert(result.getOwner()).second ||
            !llvm::is_contained(result.getOwner()->getOperands(), returned))
          break;
        value = returned;
      }
      auto arg = dyn_cast<BlockArgument>(value);
      bool isOfFunction = arg && arg.getOwner() == &func.getBody().front();
      args.push_back(isOfFunction ? std::optional(arg.getArgNumber())
                                  : std::nullopt);
    }
    returnedArgs[func] = std::move(args);
  }
}

Operation *PassedValues::getMain() const {
  return symbols.lookup<func::FuncOp>("main");
}

SmallVector<Value> PassedValues::getPassed(BlockArgument arg) const {
  auto func = dyn_cast<func::FuncOp>(arg.getOwner()->getParentOp());
  SmallVector<Value> values;
  if (!func || !arg.getOwner()->isEntryBlock())
    return values;
  // A call may pass less than there is.
  for (CallOpInterface call : callsOf.lookup(func))
    if (arg.getArgNumber() < call.getArgOperands().size())
      values.push_back(call.getArgOperands()[arg.getArgNumber()]);
  return values;
}

Value PassedValues::getReturned(OpResult result) const {
  auto call = dyn_cast<CallOpInterface>(result.getOwner());
  func::FuncOp callee = call ? getCallee(call, symbols) : func::FuncOp();
  func::ReturnOp end = callee ? getReturn(callee) : func::ReturnOp();
  if (!end)
    return {};
  unsigned index = result.getResultNumber();
  if (index >= end.getNumOperands())
    return {};
  auto args = returnedArgs.find(callee);
  if (args != returnedArgs.end())
    if (std::optional<unsigned> arg = args->second[index];
        arg && *arg < call.getArgOperands().size())
      return call.getArgOperands()[*arg];
  return end.getOperand(index);
}
