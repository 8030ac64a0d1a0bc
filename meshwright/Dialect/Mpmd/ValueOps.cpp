//===- ValueOps.cpp - Ops that place, move and combine values -------------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

#include "meshwright/Dialect/Mpmd/MemoryKinds.h"
#include "meshwright/Dialect/Mpmd/MpmdDialect.h"
#include "meshwright/Dialect/Sdy/ShardingVerification.h"

using namespace mlir;
using namespace mlir::mpmd;

//===----------------------------------------------------------------------===//
// assign, unassign
//===----------------------------------------------------------------------===//

static LogicalResult verifyPlacement(Operation *op, Type tensorType,
                                     MeshTensorType meshTensor) {
  if (failed(meshTensor.verifyForTopology(op))) // (C1)
    return failure();
  if (!meshTensor.isFullyReplicated()) // (C2)
    return emitError(op->getLoc())
           << "mesh tensor must be fully replicated, but is " << meshTensor;
  if (meshTensor.getGlobalTensorType() != tensorType) // (C3)
    return emitError(op->getLoc())
           << "tensor has type " << tensorType
           << " but the global tensor type of the mesh tensor is "
           << meshTensor.getGlobalTensorType() << "; they must be identical";
  return success();
}

void AssignOp::build(OpBuilder &builder, OperationState &state, Value tensor,
                     StringRef meshName, StringAttr origin) {
  auto type = MeshTensorType::getFullyReplicated(
      builder.getContext(), meshName, cast<RankedTensorType>(tensor.getType()));
  build(builder, state, type, tensor, origin);
}

void AssignOp::build(OpBuilder &builder, OperationState &state, Value tensor,
                     StringRef meshName, StringRef origin) {
  build(builder, state, tensor, meshName, builder.getStringAttr(origin));
}

LogicalResult AssignOp::verify() {
  return verifyPlacement(*this, getTensor().getType(), getType());
}

LogicalResult UnassignOp::verify() {
  return verifyPlacement(*this, getType(), getTensor().getType());
}

LogicalResult UnassignOp::inferReturnTypes(MLIRContext *,
                                           std::optional<Location> loc,
                                           Adaptor adaptor,
                                           SmallVectorImpl<Type> &types) {
  auto type = dyn_cast<MeshTensorType>(adaptor.getTensor().getType());
  if (!type)
    return emitOptionalError(loc, "expected a mesh tensor operand, but got ",
                             adaptor.getTensor().getType());
  types.push_back(type.getGlobalTensorType());
  return success();
}

//===----------------------------------------------------------------------===//
// transfer
//===----------------------------------------------------------------------===//

bool TransferOp::isIntraMesh() {
  MeshTensorType from = getTensor().getType(), to = getType();
  return from.getMeshName() == to.getMeshName() &&
         from.getMemoryKind() == to.getMemoryKind();
}

LogicalResult TransferOp::verify() {
  MeshTensorType from = getTensor().getType(), to = getType();
  for (MeshTensorType type : {from, to}) // (C1)
    if (failed(type.verifyForTopology(*this)))
      return failure();
  if (from.getGlobalTensorType() != to.getGlobalTensorType()) // (C2)
    return emitError() << "cannot transfer " << from << " to " << to
                       << ": operand and result must have the same global "
                          "tensor type";
  for (MeshTensorType type : {from, to}) // (C3)
    if (StringAttr kind = type.getMemoryKind();
        kind && kind.getValue() != kMemoryKindDevice &&
        kind.getValue() != kMemoryKindPinnedHost)
      return emitError() << "memory kind must be either \""
                         << kMemoryKindPinnedHost << "\" or \""
                         << kMemoryKindDevice << "\", found " << kind;
  bool isAsked = !isa<BlockArgument>(getTensor()) ||
                 sdy::isVerifiedBefore(getTensor(), *this);
  if (isAsked && isPinnedHost(getAttributeMemoryKind(getTensor()))) // (C4)
    return emitError() << "Transfers from host with attributes are not "
                          "allowed; put the memory kind into the type";
  if (isPinnedHost((*this)->getAttrOfType<StringAttr>(kMemoryKindAttr)))
    return emitError() << "Transfers to host with attributes are not allowed; "
                          "put the memory kind into the type";
  return success();
}

/// transfer(x) : T -> T  becomes  x.
static LogicalResult dropIdentity(TransferOp op, PatternRewriter &rewriter) {
  if (op.getTensor().getType() != op.getType())
    return failure();
  rewriter.replaceOp(op, op.getTensor());
  return success();
}

/// transfer(transfer(x)) on one mesh  becomes  transfer(x).
static LogicalResult collapseChain(TransferOp op, PatternRewriter &rewriter) {
  auto inner = op.getTensor().getDefiningOp<TransferOp>();
  if (!inner)
    return failure();
  StringRef name = op.getType().getMeshName();
  if (inner.getType().getMeshName() != name ||
      inner.getTensor().getType().getMeshName() != name)
    return failure();
  rewriter.replaceOpWithNewOp<TransferOp>(op, op.getType(), inner.getTensor());
  return success();
}

void TransferOp::getCanonicalizationPatterns(RewritePatternSet &patterns,
                                             MLIRContext *context) {
  // In this order: of a chain that ends in an identity both ends stay, if both
  // are read.
  patterns.add(collapseChain);
  patterns.add(dropIdentity);
}

//===----------------------------------------------------------------------===//
// broadcast, reduce
//===----------------------------------------------------------------------===//

LogicalResult BroadcastOp::canonicalize(BroadcastOp op,
                                        PatternRewriter &rewriter) {
  auto inner = op.getTensor().getDefiningOp<BroadcastOp>();
  if (!inner)
    return failure();
  rewriter.replaceOpWithNewOp<BroadcastOp>(op, op.getType(), inner.getTensor());
  return success();
}

LogicalResult ReduceOp::verify() {
  if (getReduction() == ReductionType::None && getTensors().size() != 1) // (C1)
    return emitError() << "reduction must have exactly one operand if its kind "
                          "is none, but has "
                       << getTensors().size();
  return success();
}

LogicalResult ReduceOp::canonicalize(ReduceOp op, PatternRewriter &rewriter) {
  if (op.getTensors().size() != 1)
    return failure();
  auto inner = op.getTensors().front().getDefiningOp<ReduceOp>();
  if (!inner || (op.getReduction() != ReductionType::None &&
                 op.getReduction() != inner.getReduction()))
    return failure();
  if (op.getType() != inner.getType())
    return failure();
  rewriter.replaceOp(op, inner);
  return success();
}
