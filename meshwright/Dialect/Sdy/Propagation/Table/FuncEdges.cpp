//===- FuncEdges.cpp - Values that cross calls of functions ---------------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

#include "meshwright/Dialect/Sdy/Propagation/Table/FuncEdges.h"

#include "meshwright/Dialect/Sdy/Transforms/ShardingWalk.h"

using namespace mlir;
using namespace mlir::sdy;

FuncEdges::FuncEdges(ModuleOp module, const SymbolTable &symbols) {
  walkOwnOps(module, [&](Operation *op) {
    auto call = dyn_cast<func::CallOp>(op);
    auto callee =
        call ? symbols.lookup<func::FuncOp>(call.getCallee()) : func::FuncOp();
    if (!callee || callee.isDeclaration())
      return WalkResult::advance();
    for (auto [operand, argument] :
         llvm::zip(call->getOpOperands(), callee.getArguments()))
      add(operand, argument);
    for (auto terminator : callee.getOps<func::ReturnOp>())
      for (auto [operand, result] :
           llvm::zip(terminator->getOpOperands(), call.getResults()))
        add(operand, result);
    return WalkResult::advance();
  });
}

void FuncEdges::add(OpOperand &source, Value target) {
  if (!target.hasOneUse())
    return;
  auto edge = dyn_cast<FuncDataFlowEdgeOp>(*target.user_begin());
  if (!edge)
    return;
  sourcesOf[edge].push_back(&source);
  edgesOf[&source].push_back(edge);
}

ArrayRef<OpOperand *> FuncEdges::getSources(FuncDataFlowEdgeOp edge) const {
  auto known = sourcesOf.find(edge);
  return known == sourcesOf.end() ? ArrayRef<OpOperand *>() : known->second;
}

ArrayRef<FuncDataFlowEdgeOp> FuncEdges::getEdges(OpOperand &use) const {
  auto known = edgesOf.find(&use);
  return known == edgesOf.end() ? ArrayRef<FuncDataFlowEdgeOp>()
                                : known->second;
}
