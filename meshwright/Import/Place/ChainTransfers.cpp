//===- ChainTransfers.cpp - Send a value from mesh to mesh ----------------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

#include "meshwright/Import/Place/ChainTransfers.h"
#include "meshwright/Import/Place/MeshOrder.h"
#include "mlir/IR/Verifier.h"
#include "llvm/ADT/STLExtras.h"

using namespace mlir;
using namespace mlir::mpmd;

SmallVector<AssignOp> mlir::mpmd::getCrossMeshAssigns(UnassignOp unassign) {
  auto sourceType = cast<MeshTensorType>(unassign.getTensor().getType());
  SmallVector<AssignOp> assigns;
  for (Operation *user : unassign->getUsers())
    if (auto assign = dyn_cast<AssignOp>(user);
        assign && assign.getType().getMeshName() != sourceType.getMeshName())
      assigns.push_back(assign);
  return assigns;
}

void mlir::mpmd::chainTransfers(Value source, SmallVector<AssignOp> assigns,
                                BlockOrder &order, RewriterBase &rewriter) {
  if (assigns.empty())
    return;
  OpBuilder::InsertionGuard guard(rewriter);
  rewriter.setInsertionPoint(*llvm::min_element(
      assigns, [&](AssignOp a, AssignOp b) { return order.isBefore(a, b); }));
  llvm::stable_sort(assigns, [](AssignOp a, AssignOp b) {
    return meshBefore(a.getType().getMeshName(), b.getType().getMeshName());
  });

  // The insertion point is itself one of the assigns, so they go at the end.
  SmallVector<Value> links;
  Value head = source;
  for (AssignOp assign : assigns) {
    if (assign.getType() == source.getType())
      head = source;
    else if (assign.getType() != head.getType())
      head =
          TransferOp::create(rewriter, assign.getLoc(), assign.getType(), head);
    links.push_back(head);
  }
  for (auto [assign, link] : llvm::zip_equal(assigns, links))
    rewriter.replaceOp(assign, link);
}

LogicalResult mlir::mpmd::verifyTransfers(Operation *root) {
  bool isValid = true;
  root->walk([&](TransferOp transfer) {
    isValid &= succeeded(verify(transfer, /*verifyRecursively=*/false));
  });
  return success(isValid);
}
