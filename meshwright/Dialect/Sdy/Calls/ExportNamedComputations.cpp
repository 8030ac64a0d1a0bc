//===- ExportNamedComputations.cpp ----------------------------------------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// Undoes sdy-import-func-calls: a named computation becomes a function and its
// call, which keep its shardings. Those that are still with its data-flow edges
// are taken from there.
//
//===----------------------------------------------------------------------===//

#include "meshwright/Dialect/Sdy/Calls/CallOrder.h"
#include "meshwright/Dialect/Sdy/SignatureShardings.h"
#include "mlir/IR/PatternMatch.h"
#include "mlir/IR/SymbolTable.h"

#define GEN_PASS_DEF_EXPORTNAMEDCOMPUTATIONSPASS
#include "meshwright/Dialect/Sdy/Calls/Passes.h"

using namespace mlir;
using namespace mlir::sdy;

/// Removes the edge ops of owners; returns for each owner the sharding of its
/// edge op, or else the one that is stored in the named computation.
static SmallVector<TensorShardingAttr>
sinkEdges(ValueRange owners, std::optional<TensorShardingPerValueAttr> stored,
          RewriterBase &rewriter) {
  SmallVector<TensorShardingAttr> shardings;
  for (auto [index, owner] : llvm::enumerate(owners)) {
    DataFlowEdgeOp edge = DataFlowEdgeOp::getFor(owner);
    if (edge) {
      shardings.push_back(edge.getShardingAttr());
      rewriter.replaceOp(edge, owner);
    } else {
      shardings.push_back(stored ? stored->getShardings()[index]
                                 : TensorShardingAttr());
    }
  }
  return shardings;
}

/// Moves the body into a new function at the end of the module.
static func::FuncOp outline(NamedComputationOp computation,
                            SymbolTable &symbols, RewriterBase &rewriter) {
  rewriter.setInsertionPointToEnd(&symbols.getOp()->getRegion(0).back());
  StringRef name = computation.getName();
  auto func = func::FuncOp::create(
      rewriter, computation.getLoc(), name.empty() ? "computation" : name,
      rewriter.getFunctionType(computation->getOperandTypes(),
                               computation->getResultTypes()));
  func.setPrivate();
  if (Attribute original = computation->removeAttr(kOriginalFuncNameAttr))
    func->setAttr(kOriginalFuncNameAttr, original);
  func.getBody().takeBody(computation.getBody());
  Operation *terminator = func.getBody().front().getTerminator();
  rewriter.setInsertionPoint(terminator);
  auto exit = func::ReturnOp::create(rewriter, terminator->getLoc(),
                                     terminator->getOperands());
  exit->setDiscardableAttrs(terminator->getDiscardableAttrDictionary());
  rewriter.eraseOp(terminator);
  symbols.insert(func);
  return func;
}

static void exportComputation(NamedComputationOp computation,
                              SymbolTable &symbols, RewriterBase &rewriter) {
  SmallVector<TensorShardingAttr> inShardings =
      sinkEdges(computation.getBody().getArguments(),
                computation.getInShardings(), rewriter);
  SmallVector<TensorShardingAttr> outShardings = sinkEdges(
      computation->getResults(), computation.getOutShardings(), rewriter);

  func::FuncOp func = outline(computation, symbols, rewriter);
  updateSignatureShardings(func, [&](const SignatureEntry &entry) {
    ArrayRef<TensorShardingAttr> list =
        entry.isResult ? outShardings : inShardings;
    return entry.index < list.size() && list[entry.index] ? list[entry.index]
                                                          : entry.sharding;
  });

  rewriter.setInsertionPoint(computation);
  auto call = func::CallOp::create(rewriter, computation.getLoc(), func,
                                   computation->getOperands());
  call->setDiscardableAttrs(computation->getDiscardableAttrDictionary());
  setResultShardings(call, outShardings);
  rewriter.replaceOp(computation, call);
}

namespace {
struct ExportNamedComputationsPass
    : sdy::impl::ExportNamedComputationsPassBase<ExportNamedComputationsPass> {
  void runOnOperation() override {
    SymbolTable symbols(getOperation());
    IRRewriter rewriter(&getContext());
    // Inner ones first; new functions are not visited.
    SmallVector<NamedComputationOp> computations;
    getOperation().walk([&](NamedComputationOp computation) {
      // Those in a module within this one could not call what is here.
      if (computation->getParentOfType<ModuleOp>() == getOperation())
        computations.push_back(computation);
    });
    for (NamedComputationOp computation : computations)
      exportComputation(computation, symbols, rewriter);
    numComputations += computations.size();
  }
};
} // namespace
