//===- RemoveUnusedSymbols.cpp --------------------------------------------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// Finding the uses of symbols reads every attribute of a program, and most
// programs have only public functions by now. So this first asks whether there
// is anything that could go.
//
//===----------------------------------------------------------------------===//

#include "meshwright/Dialect/Sdy/SharedBodyCall.h"
#include "mlir/IR/SymbolTable.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Transforms/Passes.h"

#define GEN_PASS_DEF_REMOVEUNUSEDSYMBOLSPASS
#include "meshwright/Dialect/Sdy/Propagation/Passes.h"

using namespace mlir;

static bool mayBeUnused(Operation &op) {
  // The passes that make and unmake calls of shared bodies erase them.
  if (auto func = dyn_cast<func::FuncOp>(op); func && sdy::isSharedBody(func))
    return false;
  auto symbol = dyn_cast<SymbolOpInterface>(op);
  return op.hasTrait<OpTrait::SymbolTable>() || (symbol && !symbol.isPublic());
}

namespace {
struct RemoveUnusedSymbolsPass
    : sdy::impl::RemoveUnusedSymbolsPassBase<RemoveUnusedSymbolsPass> {
  void runOnOperation() override {
    if (llvm::none_of(*getOperation().getBody(), mayBeUnused))
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
