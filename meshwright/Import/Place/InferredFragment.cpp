//===- InferredFragment.cpp - Place one op on a mesh ----------------------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

#include "meshwright/Import/Place/InferredFragment.h"
#include "meshwright/Dialect/Mpmd/Fragments.h"
#include "meshwright/IR/OutsideReads.h"
#include "mlir/IR/IRMapping.h"
#include "llvm/ADT/SmallVectorExtras.h"

using namespace mlir;
using namespace mlir::mpmd;

static Type getTypeOnMeshIfTensor(Type type, StringRef meshName) {
  auto tensorType = dyn_cast<RankedTensorType>(type);
  if (!tensorType)
    return type;
  return MeshTensorType::getFullyReplicated(type.getContext(), meshName,
                                            tensorType);
}

FragmentOp mlir::mpmd::wrapInInferredFragment(
    Operation *op, StringRef meshName, StringRef inferredBy,
    RewriterBase &rewriter, function_ref<bool(OpOperand &)> shouldReplace) {
  OpBuilder::InsertionGuard guard(rewriter);
  rewriter.setInsertionPoint(op);

  SetVector<Value> read = getOutsideReads(op);
  SmallVector<Value> inputs;
  for (Value value : read) {
    Type type = getTypeOnMeshIfTensor(value.getType(), meshName);
    if (type != value.getType())
      value = AssignOp::create(rewriter, op->getLoc(), type, value,
                               /*origin=*/StringAttr());
    inputs.push_back(value);
  }

  auto resultTypes = llvm::map_to_vector(op->getResultTypes(), [&](Type type) {
    return getTypeOnMeshIfTensor(type, meshName);
  });
  auto fragment = FragmentOp::createWithGlobalBody(
      op->getLoc(), rewriter.getArrayAttr({}), rewriter.getStringAttr(meshName),
      inputs, resultTypes, rewriter,
      [&](ArrayRef<Value> args, OpBuilder &block) {
        IRMapping mapping;
        mapping.map(read.getArrayRef(), args);
        Operation *clone = block.clone(*op, mapping);
        return SmallVector<Value>(clone->getResults());
      });
  setInferredBy(fragment, {inferredBy});

  rewriter.setInsertionPointAfter(fragment);
  for (auto [result, onMesh] :
       llvm::zip_equal(op->getResults(), fragment->getResults())) {
    Value replacement = onMesh;
    if (result.getType() != onMesh.getType())
      replacement = UnassignOp::create(rewriter, op->getLoc(), result.getType(),
                                       onMesh, /*origin=*/StringAttr());
    rewriter.replaceUsesWithIf(result, replacement, shouldReplace);
  }
  return fragment;
}
