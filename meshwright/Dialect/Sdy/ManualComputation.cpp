//===- ManualComputation.cpp - sdy.manual_computation ---------------------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

#include "meshwright/Dialect/Sdy/AxisAlgebra.h"
#include "meshwright/Dialect/Sdy/SdyDialect.h"
#include "meshwright/Dialect/Sdy/ShardingVerification.h"
#include "meshwright/Dialect/Sdy/Shardings.h"
#include "mlir/IR/PatternMatch.h"

using namespace mlir;
using namespace mlir::sdy;

//===----------------------------------------------------------------------===//
// Manual axes of one dimension
//===----------------------------------------------------------------------===//

/// The manual axes at the start of a dimension.
static ArrayRef<AxisRefAttr> getManualPrefix(DimensionShardingAttr dim,
                                             ManualAxesAttr manualAxes) {
  return dim.getAxes().take_while(
      [&](AxisRefAttr axis) { return manualAxes.contains(axis.getName()); });
}

/// The mesh of the shardings, empty ones aside; null if there is none.
static MeshAttr getCommonMesh(ManualComputationOp op) {
  for (TensorShardingPerValueAttr list :
       {op.getInShardings(), op.getOutShardings()})
    for (TensorShardingAttr sharding : list)
      if (MeshAttr mesh = sharding.getMesh(op); mesh && !mesh.empty())
        return mesh;
  return {};
}

//===----------------------------------------------------------------------===//
// Verification
//===----------------------------------------------------------------------===//

/// The type of the piece that the body gets of a global value.
static FailureOr<Type> getTypeInBody(ManualComputationOp op, Type globalType,
                                     TensorShardingAttr sharding,
                                     StringRef valueName, size_t index) {
  auto tensor = dyn_cast<RankedTensorType>(globalType);
  MeshAttr mesh = sharding.getMesh(op);
  if (!tensor || mesh.isMaximal() || op.getManualAxes().empty())
    return globalType;
  SmallVector<int64_t> shape;
  for (auto [dimIndex, size, dim] :
       llvm::enumerate(tensor.getShape(), sharding.getDimShardings())) {
    ArrayRef<AxisRefAttr> manual = getManualPrefix(dim, op.getManualAxes());
    ArrayRef<AxisRefAttr> rest = dim.getAxes().drop_front(manual.size());
    for (AxisRefAttr axis : rest) // (C3)
      if (op.getManualAxes().contains(axis.getName()))
        return op.emitOpError()
               << valueName << " sharding at index " << index
               << " must have all manual axes before the free ones, but in "
                  "dimension "
               << dimIndex << " manual axis " << axis.toString()
               << " comes after free axis " << rest.front().toString();
    int64_t pieces = getTotalSize(manual, mesh);
    if (!ShapedType::isDynamic(size) && size % pieces != 0) // (C4)
      return op.emitOpError()
             << valueName << " dimension size " << size
             << " is not divisible by the manual axes size " << pieces
             << " at index " << index << ", dimension " << dimIndex;
    shape.push_back(ShapedType::isDynamic(size) ? size : size / pieces);
  }
  return Type(RankedTensorType::get(shape, tensor.getElementType(),
                                    tensor.getEncoding()));
}

static LogicalResult verifyValues(ManualComputationOp op, TypeRange globalTypes,
                                  TypeRange bodyTypes,
                                  TensorShardingPerValueAttr shardings,
                                  StringRef valueName) {
  if (globalTypes.size() != bodyTypes.size()) // (C2)
    return op.emitOpError()
           << "number of op " << valueName << "s and region " << valueName
           << "s must match, but the op has " << globalTypes.size()
           << " and the region " << bodyTypes.size();
  // No value may have one sharding.
  for (auto [index, global, inBody, sharding] : llvm::enumerate(
           globalTypes, bodyTypes,
           shardings.getShardings().take_front(globalTypes.size()))) {
    FailureOr<Type> expected =
        getTypeInBody(op, global, sharding, valueName, index);
    if (failed(expected))
      return failure();
    if (*expected != inBody) // (C5)
      return op.emitOpError() << valueName << " shape, sharding and region "
                              << valueName << " shape at index " << index
                              << " must match: expected local shape "
                              << *expected << ", actual local shape " << inBody;
  }
  return success();
}

/// (C6)
static LogicalResult verifyMeshes(ManualComputationOp op) {
  if (op.getManualAxes().empty())
    return success();
  MeshAttr common = getCommonMesh(op);
  for (TensorShardingPerValueAttr list :
       {op.getInShardings(), op.getOutShardings()})
    for (TensorShardingAttr sharding : list)
      if (MeshAttr mesh = sharding.getMesh(op); !mesh.empty() && mesh != common)
        return op.emitOpError() << "all in and out shardings must be bound to "
                                   "the same mesh, got "
                                << common << " and " << mesh;
  if (!common)
    return success();
  for (StringAttr axis : op.getManualAxes())
    if (!common.hasAxis(axis))
      return op.emitOpError()
             << "unknown manual axis: " << axis << "; the mesh is " << common;
  return success();
}

/// (C7)
static LogicalResult verifyManualOnce(ManualComputationOp op) {
  for (auto parent = op->getParentOfType<ManualComputationOp>(); parent;
       parent = parent->getParentOfType<ManualComputationOp>())
    for (StringAttr axis : op.getManualAxes())
      if (parent.getManualAxes().contains(axis)) {
        InFlightDiagnostic diag =
            op.emitOpError()
            << "axis " << axis
            << " is already manual in a parent sdy.manual_computation";
        diag.attachNote(parent.getLoc()) << "made manual here";
        return diag;
      }
  return success();
}

LogicalResult ManualComputationOp::verify() {
  if (failed(verifyManualOnce(*this)) ||
      failed(verifyShardings(getTensors().getTypes(), getInShardings(), *this,
                             "operand")) ||
      failed(verifyShardings(getResultTypes(), getOutShardings(), *this,
                             "result")))
    return failure();
  TypeRange returned = getBodyTerminator()->getOperandTypes();
  if (failed(verifyValues(*this, getTensors().getTypes(),
                          getBody().getArgumentTypes(), getInShardings(),
                          "operand")) ||
      failed(verifyValues(*this, getResultTypes(), returned, getOutShardings(),
                          "result")))
    return failure();
  return verifyMeshes(*this);
}

//===----------------------------------------------------------------------===//
// Data flow
//===----------------------------------------------------------------------===//

bool ManualComputationOp::shouldKeepEdgeOwnerShardingsDivisible() {
  return true;
}

SmallVector<TensorShardingAttr>
ManualComputationOp::getOpResultEdgeOwnerShardings() {
  // Ops after this one are verified before it, and ask.
  return getOutShardingsAttr() ? llvm::to_vector(getOutShardings())
                               : SmallVector<TensorShardingAttr>();
}

void ManualComputationOp::setOpResultEdgeOwnerShardings(
    ArrayRef<TensorShardingAttr> shardings) {
  setOutShardingsAttr(TensorShardingPerValueAttr::get(getContext(), shardings));
}

/// The sharding inside a manual computation: its axes are not visible there.
static TensorShardingAttr dropManualAxes(TensorShardingAttr sharding,
                                         ManualAxesAttr manualAxes) {
  auto keepFree = [&](ArrayRef<AxisRefAttr> axes) {
    SmallVector<AxisRefAttr> free;
    llvm::copy_if(axes, std::back_inserter(free), [&](AxisRefAttr axis) {
      return !manualAxes.contains(axis.getName());
    });
    return free;
  };
  auto dims = llvm::map_to_vector(
      sharding.getDimShardings(), [&](DimensionShardingAttr dim) {
        auto prefix = getManualPrefix(dim, manualAxes);
        DimensionShardingAttr rest =
            dim.replaceAxes(dim.getAxes().drop_front(prefix.size()));
        return rest.emptyAxes() && rest.getIsClosed() ? rest.dropPriority()
                                                      : rest;
      });
  return sharding.replaceDimShardings(dims)
      .replaceReplicatedAxes(keepFree(sharding.getReplicatedAxes()))
      .replaceUnreducedAxes(keepFree(sharding.getUnreducedAxes()));
}

/// Puts the manual axes of the stored sharding `original` back in front of the
/// free ones of `inside`.
static TensorShardingAttr addManualAxes(TensorShardingAttr inside,
                                        TensorShardingAttr original,
                                        ManualAxesAttr manualAxes,
                                        MeshAttr mesh) {
  auto withManual = [&](ArrayRef<AxisRefAttr> free,
                        ArrayRef<AxisRefAttr> before) {
    auto axes = llvm::to_vector(free);
    llvm::copy_if(before, std::back_inserter(axes), [&](AxisRefAttr axis) {
      return manualAxes.contains(axis.getName());
    });
    if (mesh)
      sortInMeshOrder(axes, mesh);
    return axes;
  };
  SmallVector<DimensionShardingAttr> dims;
  for (auto [dim, originalDim] :
       llvm::zip(inside.getDimShardings(), original.getDimShardings())) {
    auto axes = llvm::to_vector(getManualPrefix(originalDim, manualAxes));
    llvm::append_range(axes, dim.getAxes());
    dims.push_back(dim.replaceAxes(axes));
  }
  return inside.replaceDimShardings(dims)
      .replaceReplicatedAxes(
          withManual(inside.getReplicatedAxes(), original.getReplicatedAxes()))
      .replaceUnreducedAxes(
          withManual(inside.getUnreducedAxes(), original.getUnreducedAxes()));
}

SmallVector<TensorShardingAttr>
ManualComputationOp::getBlockArgumentEdgeOwnerShardings() {
  return llvm::map_to_vector(getInShardings(), [&](TensorShardingAttr attr) {
    return dropManualAxes(attr, getManualAxes());
  });
}

void ManualComputationOp::setBlockArgumentEdgeOwnerShardings(
    ArrayRef<TensorShardingAttr> shardings) {
  SmallVector<TensorShardingAttr> outside;
  for (auto [inside, original] : llvm::zip(shardings, getInShardings()))
    outside.push_back(
        addManualAxes(inside, original, getManualAxes(), getCommonMesh(*this)));
  setInShardingsAttr(TensorShardingPerValueAttr::get(getContext(), outside));
}

TensorShardingAttr ManualComputationOp::transformTargetSharding(
    Value target, TensorShardingAttr sharding, bool toSources) {
  if (!sharding || getManualAxes().empty())
    return sharding;
  auto arg = dyn_cast<BlockArgument>(target);
  // The sources of a block argument are outside, those of a result inside.
  if (!arg == toSources)
    return dropManualAxes(sharding, getManualAxes());
  TensorShardingAttr stored =
      arg ? getInShardings().getShardings()[arg.getArgNumber()]
          : getOutShardings()
                .getShardings()[cast<OpResult>(target).getResultNumber()];
  return addManualAxes(sharding, stored, getManualAxes(), getCommonMesh(*this));
}

//===----------------------------------------------------------------------===//
// Canonicalization
//===----------------------------------------------------------------------===//

/// Drops block arguments without uses, with their operands.
static LogicalResult dropUnusedArguments(ManualComputationOp op,
                                         PatternRewriter &rewriter) {
  BitVector unused(op.getBody().getNumArguments());
  for (BlockArgument arg : op.getBody().getArguments())
    if (arg.use_empty())
      unused.set(arg.getArgNumber());
  if (unused.none())
    return failure();
  SmallVector<TensorShardingAttr> kept;
  for (auto [index, sharding] : llvm::enumerate(op.getInShardings()))
    if (!unused.test(index))
      kept.push_back(sharding);
  rewriter.modifyOpInPlace(op, [&] {
    op.getBody().front().eraseArguments(unused);
    op->eraseOperands(unused);
    op.setInShardingsAttr(
        TensorShardingPerValueAttr::get(op.getContext(), kept));
  });
  return success();
}

/// Moves the body out if the manual axes do not cut anything. A collective would
/// see them in the sharding of its operand.
static LogicalResult inlineTrivial(ManualComputationOp op,
                                   PatternRewriter &rewriter) {
  MeshAttr mesh = getCommonMesh(op);
  if (!op.getManualAxes().empty() &&
      (op.getBody()
           .walk([](Operation *inner) {
             return isCollective(inner) ? WalkResult::interrupt()
                                        : WalkResult::advance();
           })
           .wasInterrupted() ||
       llvm::any_of(op->getUsers(), isCollective)))
    return failure();
  for (StringAttr axis : op.getManualAxes())
    if (!mesh || mesh.findAxisSize(axis) != 1)
      return failure();
  Operation *terminator = op.getBodyTerminator();
  rewriter.inlineBlockBefore(&op.getBody().front(), op, op.getTensors());
  rewriter.replaceOp(op, terminator->getOperands());
  rewriter.eraseOp(terminator);
  return success();
}

static LogicalResult eraseEmpty(ManualComputationOp op,
                                PatternRewriter &rewriter) {
  if (op.getNumOperands() != 0 || op.getNumResults() != 0 ||
      !op.getBody().front().without_terminator().empty())
    return failure();
  rewriter.eraseOp(op);
  return success();
}

void ManualComputationOp::getCanonicalizationPatterns(
    RewritePatternSet &patterns, MLIRContext *) {
  patterns.add(dropUnusedArguments);
  patterns.add(inlineTrivial);
  patterns.add(eraseEmpty);
}
