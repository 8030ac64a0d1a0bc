//===- InLine.cpp ---------------------------------------------------------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

#include "meshwright/Import/Conditionals/InLine.h"
#include "meshwright/Dialect/Mpmd/Functions.h"
#include "meshwright/Dialect/StableHLO/StablehloDialect.h"
#include "meshwright/Import/MeshSets/MeshSetAttributes.h"
#include "mlir/IR/Builders.h"

using namespace mlir;
using namespace mlir::mpmd;

bool mpmd::isConditional(Operation *op) {
  return isa<stablehlo::IfOp, stablehlo::CaseOp>(op);
}

SmallVector<Operation *> mpmd::inlineBranches(Operation *op) {
  SmallVector<SmallVector<Value>> candidates(op->getNumResults());
  for (Region &branch : op->getRegions()) {
    Block &body = branch.front();
    for (auto [list, value] :
         llvm::zip_equal(candidates, body.getTerminator()->getOperands()))
      list.push_back(value);
    body.getTerminator()->erase();
    op->getBlock()->getOperations().splice(op->getIterator(),
                                           body.getOperations());
  }
  OpBuilder builder(op);
  SmallVector<Operation *> chosen;
  for (auto [result, values] : llvm::zip_equal(op->getResults(), candidates)) {
    Operation *choice = UnrealizedConversionCastOp::create(
        builder, op->getLoc(), TypeRange(result.getType()), values);
    result.replaceAllUsesWith(choice->getResult(0));
    chosen.push_back(choice);
  }
  op->erase();
  return chosen;
}

static void collect(Operation *op, SmallVectorImpl<Operation *> &result) {
  if (!isConditional(op))
    return;
  for (Region &branch : op->getRegions())
    for (Operation &nested : branch.front())
      collect(&nested, result);
  result.push_back(op);
}

SmallVector<Operation *> mpmd::collectConditionals(ModuleOp module) {
  SmallVector<Operation *> conditionals;
  for (func::FuncOp func : getMpmdFunctions(module))
    if (getTopology(func).getMeshes().size() > 1)
      for (Operation &op : func.front())
        collect(&op, conditionals);
  return conditionals;
}
