//===- MeshRewritingLoops.cpp ---------------------------------------------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// Every value that a loop carries is on one mesh, that of the uses of what the
// body yields for it:
//
//   %1 = mpmd.for (%0) (%x, %index)       %a = mpmd.assign %0 : m1
//                                         %1 = mpmd.for (%a) (%x: m1, %index)
//                                         %u = mpmd.unassign %1
//
//===----------------------------------------------------------------------===//

#include "meshwright/Import/InferMesh/MeshRewriting.h"

using namespace mlir;
using namespace mlir::mpmd;

LogicalResult MeshRewriting::rewriteLoop(ForOp loop, StringRef firstMesh) {
  Block &body = loop.getRegion().front();
  if (failed(assignYielded(loop, firstMesh)) ||
      failed(rewriteBlock(body, firstMesh)))
    return failure();
  rewriter.setInsertionPointToStart(&body);
  for (BlockArgument arg : body.getArguments())
    if (failed(rewriteLoopArgument(loop, arg)))
      return failure();
  if (failed(connectLoop(loop)))
    return failure();
  SmallVector<MeshSet> none(body.getNumArguments());
  setArgMeshSets(loop, kUseSetAttr, none);
  setArgMeshSets(loop, kSrcSetAttr, none);
  return success();
}

/// Assigns what the body yields to the one mesh where it is used.
LogicalResult MeshRewriting::assignYielded(ForOp loop, StringRef firstMesh) {
  Operation *terminator = loop.getRegion().front().getTerminator();
  rewriter.setInsertionPoint(terminator);
  for (OpOperand &yielded : terminator->getOpOperands()) {
    Value value = yielded.get();
    if (!isTensor(value))
      continue;
    MeshSet uses;
    if (auto arg = dyn_cast<BlockArgument>(value))
      uses = getArgMeshSet(arg, kUseSetAttr);
    else if (auto call = value.getDefiningOp<CallOp>())
      uses = getResultUseSet(flow.getCallee(call),
                             cast<OpResult>(value).getResultNumber());
    else
      uses = getMeshSet(value.getDefiningOp(), kUseSetAttr);
    if (uses.getMeshes().size() > 1)
      return loop.emitError()
             << "value " << yielded.getOperandNumber()
             << " of the loop is used on " << uses.getMeshes().size()
             << " meshes; unroll the loop, or use the value on one mesh";
    StringRef mesh = prioritize(uses).value_or(
        prioritize(flow.getSources(value)).value_or(firstMesh));
    yielded.set(createAssign(loop.getLoc(), value, getTypeOnMesh(value, mesh)));
  }
  return success();
}

/// Gives an argument the mesh of its users. One without a reader follows what
/// the body yields for it; the index then keeps its type.
LogicalResult MeshRewriting::rewriteLoopArgument(ForOp loop,
                                                 BlockArgument arg) {
  if (!isTensor(arg))
    return success();
  FailureOr<AssignsByMesh> groups = groupAssigns(arg);
  if (failed(groups))
    return failure();
  bool isIndex = arg == loop.getIndexArg();
  Type yieldedType;
  if (!isIndex)
    yieldedType = loop.getRegion()
                      .front()
                      .getTerminator()
                      ->getOperand(arg.getArgNumber())
                      .getType();
  if (groups->empty()) {
    if (!isIndex)
      arg.setType(yieldedType);
    return success();
  }
  MeshTensorType type = getTypeOnMesh(arg, groups->front().first);
  if (groups->size() > 1 || (!isIndex && type != yieldedType))
    return loop.emitError()
           << "argument " << arg.getArgNumber()
           << " of the loop body needs more than one mesh; unroll the loop, or "
              "use the value on one mesh";
  arg.setType(type);
  Value value = createUnassign(loop.getLoc(), arg);
  for (AssignOp assign : groups->front().second)
    assign->setOperand(0, value);
  return success();
}

/// Fits operands and results of the loop to its rewritten body.
LogicalResult MeshRewriting::connectLoop(ForOp loop) {
  Block &body = loop.getRegion().front();
  rewriter.setInsertionPoint(loop);
  for (OpOperand &operand : loop->getOpOperands())
    if (isTensor(operand.get()))
      operand.set(
          createAssign(loop.getLoc(), operand.get(),
                       body.getArgument(operand.getOperandNumber()).getType()));

  rewriter.setInsertionPointAfter(loop);
  for (auto [result, yielded] : llvm::zip_equal(
           loop->getResults(), body.getTerminator()->getOperands())) {
    if (!isTensor(result))
      continue;
    result.setType(yielded.getType());
    for (Operation *user : llvm::make_early_inc_range(result.getUsers())) {
      if (isa<func::ReturnOp>(user))
        continue; // It hands on whatever mesh the value is on.
      auto assign = dyn_cast<AssignOp>(user);
      if (!assign)
        return user->emitError()
               << "reads result " << cast<OpResult>(result).getResultNumber()
               << " of a loop, which has no mesh" << kRunFromStart;
      assign->setOperand(0, createUnassign(loop.getLoc(), result));
    }
  }
  return success();
}
