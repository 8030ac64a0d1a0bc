//===- RebuildOp.cpp ------------------------------------------------------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

#include "meshwright/IR/RebuildOp.h"

using namespace mlir;

Operation *mpmd::rebuildOp(Operation *op, ValueRange operands,
                           TypeRange resultTypes, RewriterBase &rewriter) {
  OpBuilder::InsertionGuard guard(rewriter);
  rewriter.setInsertionPoint(op);
  OperationState state(op->getLoc(), op->getName());
  state.addOperands(operands);
  state.addTypes(resultTypes);
  state.addAttributes(op->getAttrDictionary().getValue());
  for (unsigned i = 0; i < op->getNumRegions(); ++i)
    state.addRegion();
  Operation *rebuilt = rewriter.create(state);
  for (auto [from, to] :
       llvm::zip_equal(op->getRegions(), rebuilt->getRegions()))
    rewriter.inlineRegionBefore(from, to, to.end());
  return rebuilt;
}
