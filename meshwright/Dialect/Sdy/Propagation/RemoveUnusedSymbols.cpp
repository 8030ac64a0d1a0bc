//===- RemoveUnusedSymbols.cpp --------------------------------------------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// Finding the uses of symbols reads every attribute of a program, and most
// programs have only public functions, and those that they call. So this first
// asks whether there is anything that could go.
//
//===----------------------------------------------------------------------===//

#include "meshwright/Dialect/Sdy/SharedBodyCall.h"
#include "mlir/IR/SymbolTable.h"
#include "mlir/Interfaces/CallInterfaces.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Transforms/Passes.h"
#include "llvm/ADT/DenseSet.h"

#define GEN_PASS_DEF_REMOVEUNUSEDSYMBOLSPASS
#include "meshwright/Dialect/Sdy/Propagation/Passes.h"

using namespace mlir;

/// What public functions call outside of any region of their ops, which is easily seen.
static llvm::DenseSet<StringAttr> findCalled(ModuleOp module) {
  llvm::DenseSet<StringAttr> called;
  for (auto func : module.getOps<func::FuncOp>())
    if (func.isPublic())
      for (Block &block : func.getBody())
        for (auto call : block.getOps<CallOpInterface>())
          if (auto callee =
                  dyn_cast<SymbolRefAttr>(call.getCallableForCallee()))
            called.insert(callee.getRootReference());
  return called;
}

static bool mayBeUnused(Operation &op,
                        const llvm::DenseSet<StringAttr> &called) {
  // The passes that make and unmake calls of shared bodies erase them.
  if (auto func = dyn_cast<func::FuncOp>(op); func && sdy::isSharedBody(func))
    return false;
  auto symbol = dyn_cast<SymbolOpInterface>(op);
  return op.hasTrait<OpTrait::SymbolTable>() ||
         (symbol && !symbol.isPublic() &&
          !called.contains(symbol.getNameAttr()));
}

namespace {
struct RemoveUnusedSymbolsPass
    : sdy::impl::RemoveUnusedSymbolsPassBase<RemoveUnusedSymbolsPass> {
  void runOnOperation() override {
    llvm::DenseSet<StringAttr> called = findCalled(getOperation());
    if (llvm::none_of(*getOperation().getBody(),
                      [&](Operation &op) { return mayBeUnused(op, called); }))
      return markAllAnalysesPreserved();
    Block::OpListType &symbols = getOperation().getBody()->getOperations();
    size_t before = symbols.size();
    OpPassManager passes(ModuleOp::getOperationName());
    passes.addPass(createSymbolDCEPass());
    if (failed(runPipeline(passes, getOperation())))
      return signalPassFailure();
    numSymbols += before - symbols.size();
  }
};
} // namespace
