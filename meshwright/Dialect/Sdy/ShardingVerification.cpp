//===- ShardingVerification.cpp - Whether a sharding fits a value ---------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// Checks run from the outside in: the mesh, the kind of value, the rank, each
// dimension, the replicated and unreduced lists, then all parts of each axis
// against each other. The first failure is reported.
//
//===----------------------------------------------------------------------===//

#include "meshwright/Dialect/Sdy/ShardingVerification.h"
#include "meshwright/Dialect/Sdy/Shardings.h"

#include "meshwright/Dialect/Sdy/AxisAlgebra.h"
#include "llvm/ADT/DenseSet.h"
#include "llvm/ADT/MapVector.h"

using namespace mlir;
using namespace mlir::sdy;

static bool hasRankZeroAndNoAxes(TensorShardingAttr sharding) {
  return sharding.getRank() == 0 && sharding.emptyAxes();
}

/// Known names, nothing twice, no neighbours that are one axis in two pieces.
static LogicalResult verifyAxisList(ArrayRef<AxisRefAttr> axes, MeshAttr mesh,
                                    llvm::SmallDenseSet<AxisRefAttr> &seen,
                                    EmitErrorFn emitError) {
  AxisRefAttr previous;
  for (AxisRefAttr axis : axes) {
    if (!mesh.hasAxis(axis.getName()))
      return emitError() << "unknown axis name: \"" << axis.getName()
                         << "\"; the mesh is " << mesh;
    if (!seen.insert(axis).second)
      return emitError() << "duplicate axis ref: " << axis.toString()
                         << "; a sharding uses each axis at most once";
    if (previous && canMerge(previous, axis))
      return emitError() << "two consecutive sub-axes can be merged: "
                         << previous.toString() << ", " << axis.toString()
                         << "; write them as one";
    previous = axis;
  }
  return success();
}

static LogicalResult verifyMeshOrder(ArrayRef<AxisRefAttr> axes, MeshAttr mesh,
                                     StringRef listName,
                                     EmitErrorFn emitError) {
  for (auto [a, b] : llvm::zip(axes, axes.drop_front(axes.empty() ? 0 : 1)))
    if (isBefore(b, a, mesh))
      return emitError() << listName << " axes are not ordered w.r.t. mesh: "
                         << a.toString() << " comes before " << b.toString()
                         << "; the mesh is " << mesh;
  return success();
}

LogicalResult sdy::verifySubAxis(AxisRefAttr axis, int64_t fullSize,
                                 EmitErrorFn emitError) {
  SubAxisInfoAttr info = axis.getSubAxisInfo();
  if (info.getPreSize() < 1)
    return emitError() << "sub-axis pre-size must be at least 1: "
                       << axis.toString();
  if (info.getSize() <= 1)
    return emitError() << "sub-axis size must be greater than 1: "
                       << axis.toString();
  int64_t next;
  if (llvm::MulOverflow(info.getPreSize(), info.getSize(), next) ||
      fullSize % next != 0)
    return emitError()
           << "sub-axis next pre-size (pre-size times size) doesn't "
              "divide the size of the full axis "
           << fullSize << ": " << axis.toString();
  if (info.getSize() == fullSize)
    return emitError() << "sub-axis size is equal to the full axis size: "
                       << axis.toString() << "; write the full axis";
  return success();
}

/// Checks all uses of one axis, in any part of the sharding, together.
static LogicalResult verifyPartsOfAxis(SmallVector<AxisRefAttr> parts,
                                       MeshAttr mesh, EmitErrorFn emitError) {
  StringRef name = parts.front().getName();
  if (parts.size() > 1 &&
      llvm::any_of(parts, [](AxisRefAttr axis) { return axis.isFullAxis(); }))
    return emitError() << "both sub-axis and full-axis are used for axis name: "
                       << "\"" << name
                       << "\"; write the full axis alone, or only sub-axes";
  for (AxisRefAttr axis : parts)
    if (axis.isSubAxis() &&
        failed(verifySubAxis(axis, mesh.getAxisSize(name), emitError)))
      return failure();
  sortInMeshOrder(parts, mesh);
  for (auto [a, b] : llvm::zip(parts, ArrayRef(parts).drop_front()))
    if (overlaps(a, b))
      return emitError() << "overlapping sub-axes: " << a.toString() << ", "
                         << b.toString();
  return success();
}

/// Sub-axes that no mesh has are reported later, with all parts of their axis.
static LogicalResult verifyDivisible(size_t index, int64_t size,
                                     DimensionShardingAttr dim, MeshAttr mesh,
                                     EmitErrorFn emitError) {
  int64_t shardedSize = 1;
  for (AxisRefAttr axis : dim.getAxes())
    if (llvm::MulOverflow(shardedSize, axis.getSize(mesh), shardedSize))
      return success();
  if (ShapedType::isDynamic(size) || shardedSize == 0 ||
      size % shardedSize == 0)
    return success();
  return emitError() << "dim " << index << " with size " << size
                     << " is not divisible by its sharded size " << shardedSize;
}

/// With a shape, each dimension must also be divisible.
static LogicalResult verifyAxes(TensorShardingAttr sharding, MeshAttr mesh,
                                EmitErrorFn emitError,
                                std::optional<ArrayRef<int64_t>> shape) {
  llvm::SmallDenseSet<AxisRefAttr> seen;
  for (auto [index, dim] : llvm::enumerate(sharding.getDimShardings())) {
    if (dim.getPriority() && *dim.getPriority() < 0)
      return emitError() << "dim " << index
                         << " has a negative priority: " << *dim.getPriority();
    if (dim.getPriority() && dim.getIsClosed() && dim.emptyAxes())
      return emitError() << "dim " << index
                         << " is empty and closed but has a priority; leave "
                            "it out, or open the dimension with ?";
    if (failed(verifyAxisList(dim.getAxes(), mesh, seen, emitError)) ||
        (shape &&
         failed(verifyDivisible(index, (*shape)[index], dim, mesh, emitError))))
      return failure();
  }
  std::pair<ArrayRef<AxisRefAttr>, StringRef> lists[] = {
      {sharding.getReplicatedAxes(), "replicated"},
      {sharding.getUnreducedAxes(), "unreduced"}};
  for (auto [axes, listName] : lists)
    if (failed(verifyMeshOrder(axes, mesh, listName, emitError)) ||
        failed(verifyAxisList(axes, mesh, seen, emitError)))
      return failure();

  llvm::MapVector<StringRef, SmallVector<AxisRefAttr>> partsOfAxis;
  sharding.forEachAxisRef(
      [&](AxisRefAttr axis) { partsOfAxis[axis.getName()].push_back(axis); });
  for (auto &[name, parts] : partsOfAxis)
    if (failed(verifyPartsOfAxis(parts, mesh, emitError)))
      return failure();
  return success();
}

LogicalResult sdy::verifySharding(Type type, TensorShardingAttr sharding,
                                  MeshAttr mesh, EmitErrorFn emitError,
                                  bool checkDivisibility) {
  if (mesh.isMaximal() || !type) {
    if (hasRankZeroAndNoAxes(sharding))
      return success();
    return emitError() << "a maximal sharding can only have a sharding with "
                          "rank 0 and no replicated or unreduced axes, got "
                       << sharding;
  }
  if (auto tuple = dyn_cast<TupleType>(type)) {
    if (tuple.size() != 1)
      return emitError() << "only a tuple of size 1 can have a sharding, got "
                         << type;
    type = tuple.getType(0);
  }
  auto shaped = dyn_cast<ShapedType>(type);
  if (!shaped) {
    if (hasRankZeroAndNoAxes(sharding))
      return success();
    return emitError() << "non-shaped tensors can only have a sharding with "
                          "rank 0 and no replicated or unreduced axes, got "
                       << sharding << " for type " << type;
  }
  if (!shaped.hasRank())
    return emitError() << "only ranked tensors can have a sharding, got "
                       << type;
  if (shaped.getRank() != sharding.getRank())
    return emitError() << "sharding doesn't match tensor rank: "
                       << sharding.getRank() << " != " << shaped.getRank();
  return verifyAxes(sharding, mesh, emitError,
                    checkDivisibility ? std::optional(shaped.getShape())
                                      : std::nullopt);
}

/// The axes of an enclosing manual computation do not exist in it.
static LogicalResult verifyNoManualAxis(TensorShardingAttr sharding,
                                        Operation *from,
                                        EmitErrorFn emitError) {
  for (auto parent = from->getParentOfType<ManualComputationOp>(); parent;
       parent = parent->getParentOfType<ManualComputationOp>()) {
    AxisRefAttr manual;
    sharding.forEachAxisRef([&](AxisRefAttr axis) {
      if (!manual && parent.getManualAxes().contains(axis.getName()))
        manual = axis;
    });
    if (manual) {
      InFlightDiagnostic diag = emitError() << "axis " << manual.toString()
                                            << " is already manual in a parent "
                                               "sdy.manual_computation";
      diag.attachNote(parent.getLoc()) << "made manual here";
      return diag;
    }
  }
  return success();
}

LogicalResult sdy::verifySharding(Type type, TensorShardingAttr sharding,
                                  Operation *from, EmitErrorFn emitError) {
  MeshAttr mesh = sharding.getMesh(from);
  if (!mesh)
    return emitError() << "unknown mesh: " << sharding.getMeshOrRef()
                       << "; expected an sdy.mesh of that name in the module";
  if (failed(verifySharding(type, sharding, mesh, emitError)))
    return failure();
  return verifyNoManualAxis(sharding, from, emitError);
}

static bool isOnMaximalMeshOrReplicated(TensorShardingAttr sharding,
                                        Operation *from) {
  MeshAttr mesh = sharding.getMesh(from);
  return (mesh && mesh.isMaximal()) || sharding.isFullyReplicated();
}

LogicalResult sdy::verifyShardings(TypeRange types,
                                   TensorShardingPerValueAttr shardings,
                                   Operation *from, StringRef valueName) {
  bool isOneWithoutValue =
      types.empty() && shardings.size() == 1 &&
      isOnMaximalMeshOrReplicated(shardings.getShardings().front(), from);
  if (types.size() != shardings.size() && !isOneWithoutValue)
    return from->emitOpError()
           << valueName
           << " shardings don't match number of values: " << shardings.size()
           << " shardings vs " << types.size() << " values";
  for (auto [index, sharding] : llvm::enumerate(shardings)) {
    auto emitError = [&, index = index] {
      InFlightDiagnostic diag = from->emitOpError() << valueName;
      if (types.size() != 1)
        diag << ' ' << index;
      return std::move(diag << " - ");
    };
    Type type = isOneWithoutValue ? Type() : types[index];
    if (failed(verifySharding(type, sharding, from, emitError)))
      return failure();
  }
  return success();
}

LogicalResult sdy::verifyEdgeOwnerShardings(DataFlowOpInterface op) {
  auto verify = [&](auto owners, ArrayRef<TensorShardingAttr> shardings,
                    StringRef what) {
    size_t size = std::min<size_t>(owners.size(), shardings.size());
    for (size_t i = 0; i < size; ++i)
      if (shardings[i] &&
          failed(verifySharding(owners[i].getType(), shardings[i], op, [&] {
            return op->emitError() << what << " " << i << ": ";
          })))
        return failure();
    return success();
  };
  return success(succeeded(verify(op.getBlockArgumentEdgeOwners(),
                                  op.getBlockArgumentEdgeOwnerShardings(),
                                  "sharding of argument")) &&
                 succeeded(verify(op.getOpResultEdgeOwners(),
                                  op.getOpResultEdgeOwnerShardings(),
                                  "sharding of result")));
}

bool sdy::isVerifiedBefore(Value value, Operation *op) {
  if (auto arg = dyn_cast<BlockArgument>(value)) {
    Operation *owner = arg.getOwner()->getParentOp();
    return owner && owner->isProperAncestor(op);
  }
  Operation *def = value.getDefiningOp();
  while (op && op->getBlock() != def->getBlock()) {
    op = op->getParentOp();
    // Isolated ops are verified apart from what is around them, maybe by threads
    // of their own.
    if (op && op->hasTrait<OpTrait::IsIsolatedFromAbove>())
      return false;
  }
  return op && op != def && def->isBeforeInBlock(op);
}

TensorShardingAttr sdy::getShardingToVerify(Value value, Operation *op) {
  // Other ops have them in attributes, which may be asked at any time.
  bool isAsked = isa<BlockArgument>(value) || getDataFlowOp(value);
  return isAsked && !isVerifiedBefore(value, op) ? TensorShardingAttr()
                                                 : getSharding(value);
}

/// Whether verifiers compare the sharding of the operand of `op` with another.
static bool isCheckedAgainstOperand(Operation *op) {
  if (auto constraint = dyn_cast<ShardingConstraintOp>(op))
    return !constraint.getSharding().getUnreducedAxes().empty();
  if (auto reshard = dyn_cast<ReshardOp>(op))
    return !reshard.getSharding().getUnreducedAxes().empty();
  return isCollective(op) || isa<PropagationBarrierOp>(op);
}

/// Whether verifiers cannot tell one from the other: also fully replicated ones
/// have a mesh for them.
static bool areAlike(TensorShardingAttr a, TensorShardingAttr b) {
  return a.getMeshOrRef() == b.getMeshOrRef() &&
         a.getReplicatedAxes() == b.getReplicatedAxes() && a.isEquivalent(b);
}

bool sdy::canReadInstead(Value value, Value replacement) {
  if (value == replacement) // Of itself, in a graph region.
    return false;
  if (llvm::none_of(value.getUsers(), isCheckedAgainstOperand))
    return true;
  TensorShardingAttr before = getSharding(value);
  TensorShardingAttr after = getSharding(replacement);
  return before && after && areAlike(before, after);
}
