//===- CollectiveOps.cpp - Ops that change a sharding ---------------------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// Each op is checked by doing its move on the axes of one side and comparing
// with the other: what an op removes is appended to its result, what it adds to
// its operand, so that sub-axes merge where they meet.
//
//===----------------------------------------------------------------------===//

#include "meshwright/Dialect/Sdy/AxisAlgebra.h"
#include "meshwright/Dialect/Sdy/SdyDialect.h"
#include "meshwright/Dialect/Sdy/ShardingVerification.h"
#include "meshwright/Dialect/Sdy/Shardings.h"
#include "mlir/IR/PatternMatch.h"
#include "llvm/ADT/SmallBitVector.h"

using namespace mlir;
using namespace mlir::sdy;

using AxesPerDim = SmallVector<SmallVector<AxisRefAttr>>;

//===----------------------------------------------------------------------===//
// Both sides of a collective
//===----------------------------------------------------------------------===//

namespace {
/// The shardings of operand and result on one mesh.
struct Sides {
  TensorShardingAttr in, out;
  MeshAttr mesh;
};
} // namespace

static AxesPerDim getAxesPerDim(TensorShardingAttr sharding) {
  return llvm::map_to_vector(sharding.getDimShardings(),
                             [](DimensionShardingAttr dim) {
                               return SmallVector<AxisRefAttr>(dim.getAxes());
                             });
}

static SmallVector<AxisRefAttr> flatten(ListOfAxisRefListsAttr lists) {
  SmallVector<AxisRefAttr> axes;
  for (AxisRefListAttr list : lists)
    llvm::append_range(axes, list);
  return axes;
}

static std::string toString(ArrayRef<AxisRefAttr> axes) {
  std::string text = "{";
  llvm::interleave(
      axes, [&](AxisRefAttr axis) { text += axis.toString(); },
      [&] { text += ", "; });
  return text + "}";
}

/// Checks what all collectives have in common. An operand without sharding is
/// taken as replicated where `assumeReplicated` is set.
static FailureOr<Sides> getSides(Operation *op, TensorShardingAttr out,
                                 bool assumeReplicated,
                                 bool ignoreDeviceOrder = false) {
  Value operand = op->getOperand(0);
  TensorShardingAttr in = getShardingToVerify(operand, op);
  if (!in && !assumeReplicated) {
    op->emitOpError() << "collective on operand without sharding; constrain "
                         "the operand with sdy.sharding_constraint";
    return failure();
  }
  if (failed(verifySharding(op->getResult(0).getType(), out, op, [&] {
        return op->emitOpError() << "out_sharding - ";
      })))
    return failure();
  // That of an op after this one is verified later.
  if (in && !isVerifiedBefore(operand, op) &&
      failed(verifySharding(operand.getType(), in, op, [&] {
        return op->emitOpError() << "sharding of the operand - ";
      })))
    return failure();
  if (!in)
    in = TensorShardingAttr::getFullyClosed(op->getContext(), out.getRank(),
                                            out.getMeshOrRef());
  MeshAttr mesh = out.getMesh(op), inMesh = in.getMesh(op);
  bool sameMesh =
      inMesh && (ignoreDeviceOrder ? mesh.equalsIgnoringDeviceOrder(inMesh)
                                   : mesh == inMesh);
  if (!sameMesh) {
    op->emitOpError() << "result mesh " << mesh
                      << " does not match operand mesh " << inMesh;
    return failure();
  }
  if (in.getRank() != out.getRank()) {
    op->emitOpError() << "sharding ranks of operand and result differ: "
                      << in.getRank() << " != " << out.getRank();
    return failure();
  }
  return Sides{in, out, mesh};
}

/// Checks a list of axes given to an op: known, none twice, and no neighbours
/// that are one axis in two pieces.
static LogicalResult verifyAxes(Operation *op, ArrayRef<AxisRefAttr> axes,
                                MeshAttr mesh,
                                SmallVectorImpl<AxisRefAttr> &seen) {
  AxisRefAttr previous;
  for (AxisRefAttr axis : axes) {
    if (!mesh.hasAxis(axis.getName()))
      return op->emitOpError() << "unknown axis name: \"" << axis.getName()
                               << "\"; the mesh is " << mesh;
    if (axis.isSubAxis() &&
        failed(verifySubAxis(axis, mesh.getAxisSize(axis.getName()),
                             [&] { return op->emitOpError(); })))
      return failure();
    for (AxisRefAttr other : seen)
      if (overlaps(axis, other))
        return op->emitOpError()
               << "axes of a collective overlap: " << other.toString() << ", "
               << axis.toString();
    if (previous && canMerge(previous, axis))
      return op->emitOpError() << "two consecutive sub-axes can be merged: "
                               << previous.toString() << ", " << axis.toString()
                               << "; write them as one";
    previous = axis;
    seen.push_back(axis);
  }
  return success();
}

/// As above for a list that represents no dimension, whose order says nothing.
static LogicalResult verifyUnorderedAxes(Operation *op, AxisRefListAttr axes,
                                         MeshAttr mesh) {
  SmallVector<AxisRefAttr> seen;
  if (failed(verifyAxes(op, axes.getValue(), mesh, seen)))
    return failure();
  for (auto [a, b] :
       llvm::zip(seen, ArrayRef(seen).drop_front(seen.empty() ? 0 : 1)))
    if (isBefore(b, a, mesh))
      return op->emitOpError()
             << "axes are not ordered w.r.t. mesh: " << a.toString()
             << " comes before " << b.toString() << "; the mesh is " << mesh;
  return success();
}

static LogicalResult verifyAxesPerDim(Operation *op, const Sides &sides,
                                      ListOfAxisRefListsAttr axes) {
  if (static_cast<int64_t>(axes.size()) != sides.out.getRank())
    return op->emitOpError()
           << "expected one list of axes per dimension, got " << axes.size()
           << " for rank " << sides.out.getRank();
  SmallVector<AxisRefAttr> seen;
  for (AxisRefListAttr list : axes)
    if (failed(verifyAxes(op, list.getValue(), sides.mesh, seen)))
      return failure();
  return success();
}

/// Appends the axes of an op to those of each dimension.
static AxesPerDim appendAxes(AxesPerDim dims, ListOfAxisRefListsAttr axes,
                             MeshAttr mesh) {
  for (auto [dim, list] : llvm::zip(dims, axes))
    for (AxisRefAttr axis : list)
      appendOrMerge(dim, axis, mesh);
  return dims;
}

static LogicalResult verifyEqualAxes(Operation *op, const AxesPerDim &expected,
                                     const AxesPerDim &actual) {
  for (auto [index, a, b] : llvm::enumerate(expected, actual))
    if (a != b)
      return op->emitOpError()
             << "axes do not match in dimension " << index << ": expected "
             << toString(a) << ", got " << toString(b);
  return success();
}

/// The dimensions of the side that has more axes are those of the other with
/// the axes of the op appended.
static FailureOr<Sides> verifyAppended(Operation *op, TensorShardingAttr out,
                                       ListOfAxisRefListsAttr axes,
                                       bool isInput) {
  // An operand that has more axes has a sharding.
  FailureOr<Sides> sides = getSides(op, out, /*assumeReplicated=*/!isInput);
  if (failed(sides) || failed(verifyAxesPerDim(op, *sides, axes)))
    return failure();
  TensorShardingAttr fewer = isInput ? sides->out : sides->in;
  TensorShardingAttr more = isInput ? sides->in : sides->out;
  if (failed(verifyEqualAxes(
          op, appendAxes(getAxesPerDim(fewer), axes, sides->mesh),
          getAxesPerDim(more))))
    return failure();
  return sides;
}

/// The unreduced axes of the result are those of the operand and `added`.
static LogicalResult verifyAddedUnreduced(Operation *op, const Sides &sides,
                                          ArrayRef<AxisRefAttr> added) {
  auto all = llvm::to_vector(sides.in.getUnreducedAxes());
  llvm::append_range(all, added);
  SmallVector<AxisRefAttr> expected = sortAndMerge(std::move(all), sides.mesh);
  if (sides.out.getUnreducedAxes() == ArrayRef(expected))
    return success();
  return op->emitOpError() << "unreduced axes do not match: expected "
                           << toString(expected) << ", got "
                           << toString(sides.out.getUnreducedAxes());
}

//===----------------------------------------------------------------------===//
// Verification
//===----------------------------------------------------------------------===//

LogicalResult AllGatherOp::verify() {
  return verifyAppended(*this, getOutSharding(), getGatheringAxes(),
                        /*isInput=*/true);
}

LogicalResult AllSliceOp::verify() {
  return verifyAppended(*this, getOutSharding(), getSlicingAxes(),
                        /*isInput=*/false);
}

LogicalResult ReduceScatterOp::verify() {
  return verifyAppended(*this, getOutSharding(), getReduceScatterAxes(),
                        /*isInput=*/false);
}

LogicalResult ShardedToUnreducedOp::verify() {
  FailureOr<Sides> sides =
      verifyAppended(*this, getOutSharding(), getAxes(), /*isInput=*/true);
  if (failed(sides))
    return failure();
  return verifyAddedUnreduced(*this, *sides, flatten(getAxes()));
}

LogicalResult ReplicatedToUnreducedOp::verify() {
  FailureOr<Sides> sides = getSides(*this, getOutSharding(), false);
  if (failed(sides))
    return failure();
  if (getAxes().empty())
    return emitOpError()
           << "must have axes, those over which the result is unreduced";
  if (failed(verifyUnorderedAxes(*this, getAxes(), sides->mesh)) ||
      failed(verifyEqualAxes(*this, getAxesPerDim(sides->in),
                             getAxesPerDim(sides->out))))
    return failure();
  return verifyAddedUnreduced(*this, *sides, getAxes().getValue());
}

/// What is reduced neither splits nor replicates the operand, and is not left
/// unreduced in the result.
static LogicalResult verifyReduced(AllReduceOp op, AxisRefAttr reduced,
                                   const Sides &sides) {
  auto check = [&](ArrayRef<AxisRefAttr> axes,
                   StringRef what) -> LogicalResult {
    for (AxisRefAttr axis : axes)
      if (overlaps(axis, reduced))
        return op.emitOpError()
               << "reduction axis " << reduced.toString() << " overlaps "
               << what << ' ' << axis.toString();
    return success();
  };
  for (DimensionShardingAttr dim : sides.in.getDimShardings())
    if (failed(check(dim.getAxes(), "operand axis")))
      return failure();
  if (failed(check(sides.in.getReplicatedAxes(), "replicated operand axis")))
    return failure();
  return check(sides.out.getUnreducedAxes(), "unreduced result axis");
}

LogicalResult AllReduceOp::verify() {
  FailureOr<Sides> sides = getSides(*this, getOutSharding(), true);
  if (failed(sides) ||
      failed(verifyUnorderedAxes(*this, getReductionAxes(), sides->mesh)))
    return failure();
  for (AxisRefAttr reduced : getReductionAxes())
    if (failed(verifyReduced(*this, reduced, *sides)))
      return failure();
  return verifyEqualAxes(*this, getAxesPerDim(sides->in),
                         getAxesPerDim(sides->out));
}

LogicalResult CollectivePermuteOp::verify() {
  FailureOr<Sides> sides = getSides(*this, getOutSharding(), false,
                                    /*ignoreDeviceOrder=*/true);
  if (failed(sides))
    return failure();
  for (auto [index, in, out] : llvm::enumerate(sides->in.getDimShardings(),
                                               sides->out.getDimShardings()))
    if (in.getShardedSize(sides->mesh) != out.getShardedSize(sides->mesh))
      return emitOpError()
             << "sharded sizes of operand and result do not match in dimension "
             << index << ": " << in.getShardedSize(sides->mesh)
             << " != " << out.getShardedSize(sides->mesh);
  return success();
}

/// Takes the axes off the minor end of a dimension; false if it does not end in
/// them.
static bool removeSuffix(SmallVectorImpl<AxisRefAttr> &dim,
                         ArrayRef<AxisRefAttr> axes, MeshAttr mesh) {
  for (AxisRefAttr axis : llvm::reverse(axes)) {
    if (dim.empty())
      return false;
    AxisRefAttr last = dim.back();
    if (last == axis) {
      dim.pop_back();
      continue;
    }
    int64_t end = axis.getPreSize() * axis.getSize(mesh);
    if (!strictlyContains(last, axis) ||
        last.getPreSize() * last.getSize(mesh) != end)
      return false;
    dim.back() = getPrefixWithoutOverlap(last, axis);
    if (!dim.back())
      return false;
  }
  return true;
}

/// Sources in order, and no dimension in two parameters: then their order does
/// not matter.
static LogicalResult verifyDims(AllToAllOp op, int64_t rank) {
  llvm::SmallBitVector seen(rank);
  int64_t lastSource = 0;
  for (AllToAllParamAttr param : op.getParams()) {
    int64_t source = param.getSrcDim(), target = param.getTgtDim();
    if (source < 0 || source >= rank || target < 0 || target >= rank)
      return op.emitOpError() << "dimensions " << source << " and " << target
                              << " must be in the range of rank " << rank;
    if (source == target)
      return op.emitOpError() << "source and target dimension must differ, got "
                              << source << " for both";
    for (int64_t dim : {source, target}) {
      if (seen.test(dim))
        return op.emitOpError() << "dimension " << dim
                                << " is in two parameters of an all_to_all";
      seen.set(dim);
    }
    if (source < lastSource)
      return op.emitOpError()
             << "source dimensions are not sorted in ascending order: "
             << source << " appears after " << lastSource;
    lastSource = source;
  }
  return success();
}

LogicalResult AllToAllOp::verify() {
  FailureOr<Sides> sides = getSides(*this, getOutSharding(), false);
  if (failed(sides))
    return failure();
  if (getParams().empty())
    return emitOpError()
           << "parameter list is empty; expected the axes to move, and between "
              "which dimensions, as in [{\"x\"}: 0->1]";
  if (failed(verifyDims(*this, sides->in.getRank())))
    return failure();
  AxesPerDim dims = getAxesPerDim(sides->in);
  SmallVector<AxisRefAttr> seen;
  for (AllToAllParamAttr param : getParams()) {
    if (param.getAxes().empty())
      return emitOpError() << "an all_to_all parameter must have axes, those "
                              "that move from dimension "
                           << param.getSrcDim() << " to " << param.getTgtDim();
    if (failed(verifyAxes(*this, param.getAxes(), sides->mesh, seen)))
      return failure();
    SmallVector<AxisRefAttr> &source = dims[param.getSrcDim()];
    if (!removeSuffix(source, param.getAxes(), sides->mesh))
      return emitOpError() << "axes " << toString(param.getAxes())
                           << " are not at the end of dimension "
                           << param.getSrcDim() << ": " << toString(source);
    for (AxisRefAttr axis : param.getAxes())
      appendOrMerge(dims[param.getTgtDim()], axis, sides->mesh);
  }
  return verifyEqualAxes(*this, dims, getAxesPerDim(sides->out));
}

//===----------------------------------------------------------------------===//
// Canonicalization
//===----------------------------------------------------------------------===//

static bool isNoOp(ListOfAxisRefListsAttr axes) {
  return llvm::all_of(axes, [](AxisRefListAttr list) { return list.empty(); });
}
static bool isNoOp(AxisRefListAttr axes) { return axes.empty(); }

/// Pattern: collective without axes -> its operand.
template <typename OpT, typename AxesT>
static LogicalResult eraseNoOp(OpT op, AxesT axes, PatternRewriter &rewriter) {
  if (!isNoOp(axes) || !canReadInstead(op.getResult(), op.getTensor()))
    return failure();
  rewriter.replaceOp(op, op.getTensor());
  return success();
}

LogicalResult AllGatherOp::canonicalize(AllGatherOp op,
                                        PatternRewriter &rewriter) {
  return eraseNoOp(op, op.getGatheringAxes(), rewriter);
}

/// Pattern: permute to the sharding that the operand has -> its operand.
LogicalResult CollectivePermuteOp::canonicalize(CollectivePermuteOp op,
                                                PatternRewriter &rewriter) {
  TensorShardingAttr in = getSharding(op.getTensor());
  if (!in || !op.getOutSharding().isEquivalent(in) ||
      op.getOutSharding().getMesh(op) != in.getMesh(op) ||
      !canReadInstead(op.getResult(), op.getTensor()))
    return failure();
  rewriter.replaceOp(op, op.getTensor());
  return success();
}

/// Pattern: all_slice(all_gather(x)) by the same axes -> x.
static LogicalResult cancelSliceOfGather(AllSliceOp op,
                                         PatternRewriter &rewriter) {
  auto gather = op.getTensor().getDefiningOp<AllGatherOp>();
  if (!gather || gather.getGatheringAxes() != op.getSlicingAxes() ||
      !canReadInstead(op.getResult(), gather.getTensor()))
    return failure();
  rewriter.replaceOp(op, gather.getTensor());
  return success();
}

/// Pattern: all_slice(all_reduce(x)) by the same axes -> reduce_scatter(x).
static LogicalResult fuseReduceScatter(AllSliceOp op,
                                       PatternRewriter &rewriter) {
  auto allReduce = op.getTensor().getDefiningOp<AllReduceOp>();
  if (!allReduce || !allReduce->hasOneUse())
    return failure();
  MeshAttr mesh = op.getOutSharding().getMesh(op);
  if (!mesh)
    return failure();
  if (sortAndMerge(flatten(op.getSlicingAxes()), mesh) !=
      sortAndMerge(llvm::to_vector(allReduce.getReductionAxes()), mesh))
    return failure();
  rewriter.replaceOpWithNewOp<ReduceScatterOp>(
      op, op.getType(), allReduce.getTensor(), op.getSlicingAxes(),
      op.getOutSharding(), allReduce.getReductionOpAttr());
  rewriter.eraseOp(allReduce);
  return success();
}

/// Pattern: all_to_all(all_to_all(x)) -> all_to_all(x) by both, unless the
/// second one moves on what the first has moved.
LogicalResult AllToAllOp::canonicalize(AllToAllOp op,
                                       PatternRewriter &rewriter) {
  auto inner = op.getTensor().getDefiningOp<AllToAllOp>();
  if (!inner || !inner->hasOneUse() || inner.getTensor() == op.getResult())
    return failure();
  llvm::SmallBitVector dims(op.getOutSharding().getRank());
  auto params = llvm::to_vector(inner.getParams());
  llvm::append_range(params, op.getParams());
  for (AllToAllParamAttr param : params)
    for (int64_t dim : {param.getSrcDim(), param.getTgtDim()}) {
      if (dims.test(dim))
        return failure();
      dims.set(dim);
    }
  llvm::sort(params, [](AllToAllParamAttr a, AllToAllParamAttr b) {
    return a.getSrcDim() < b.getSrcDim();
  });
  rewriter.modifyOpInPlace(op, [&] {
    op.setParamsAttr(AllToAllParamListAttr::get(op.getContext(), params));
    op.getTensorMutable().assign(inner.getTensor());
  });
  rewriter.eraseOp(inner);
  return success();
}

void AllSliceOp::getCanonicalizationPatterns(RewritePatternSet &patterns,
                                             MLIRContext *) {
  patterns.add(+[](AllSliceOp op, PatternRewriter &rewriter) {
    return eraseNoOp(op, op.getSlicingAxes(), rewriter);
  });
  patterns.add(cancelSliceOfGather);
  patterns.add(fuseReduceScatter);
}

LogicalResult AllReduceOp::canonicalize(AllReduceOp op,
                                        PatternRewriter &rewriter) {
  return eraseNoOp(op, op.getReductionAxes(), rewriter);
}

LogicalResult ReduceScatterOp::canonicalize(ReduceScatterOp op,
                                            PatternRewriter &rewriter) {
  return eraseNoOp(op, op.getReduceScatterAxes(), rewriter);
}

LogicalResult ShardedToUnreducedOp::canonicalize(ShardedToUnreducedOp op,
                                                 PatternRewriter &rewriter) {
  return eraseNoOp(op, op.getAxes(), rewriter);
}

LogicalResult ReplicatedToUnreducedOp::canonicalize(ReplicatedToUnreducedOp op,
                                                    PatternRewriter &rewriter) {
  return eraseNoOp(op, op.getAxes(), rewriter);
}
