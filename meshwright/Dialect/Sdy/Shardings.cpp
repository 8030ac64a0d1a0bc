//===- Shardings.cpp - Where the sharding of a value is kept --------------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

#include "meshwright/Dialect/Sdy/Shardings.h"

using namespace mlir;
using namespace mlir::sdy;

//===----------------------------------------------------------------------===//
// Results of ops
//===----------------------------------------------------------------------===//

SmallVector<TensorShardingAttr> sdy::getResultShardings(Operation *op) {
  auto list = op->getAttrOfType<TensorShardingPerValueAttr>(kShardingAttr);
  return list ? llvm::to_vector(list.getShardings())
              : SmallVector<TensorShardingAttr>();
}

/// Whether a sharding is one of a single device, which has no dimensions whatever
/// the value.
static bool isOfOneDevice(TensorShardingAttr sharding, Operation *from) {
  MeshAttr mesh = sharding.getRank() == 0 ? sharding.getMesh(from) : MeshAttr();
  return mesh && mesh.isMaximal();
}

static bool canBeOpen(Type type) {
  auto shaped = dyn_cast<ShapedType>(type);
  return shaped ? shaped.hasRank() : !isa<TupleType>(type);
}

bool sdy::fillShardings(MutableArrayRef<TensorShardingAttr> shardings,
                        TypeRange types, Operation *from) {
  TensorShardingAttr like;
  bool isOneDevice = true;
  for (TensorShardingAttr sharding : shardings)
    if (sharding && isOneDevice) {
      like = sharding;
      isOneDevice = isOfOneDevice(sharding, from);
    }
  if (!like)
    return false;
  for (auto [sharding, type] : llvm::zip(shardings, types)) {
    if (sharding)
      continue;
    if (isOneDevice)
      sharding = like;
    else if (canBeOpen(type))
      sharding = TensorShardingAttr::getFullyOpenLike(type, like);
    else
      return false;
  }
  return true;
}

void sdy::setResultShardings(Operation *op,
                             ArrayRef<TensorShardingAttr> shardings) {
  auto filled = llvm::to_vector(shardings);
  if (!fillShardings(filled, op->getResultTypes(), op))
    return;
  op->setAttr(kShardingAttr,
              TensorShardingPerValueAttr::get(op->getContext(), filled));
}

bool sdy::isCollective(Operation *op) {
  return isa<AllGatherOp, AllSliceOp, AllToAllOp, CollectivePermuteOp,
             AllReduceOp, ReduceScatterOp, ShardedToUnreducedOp,
             ReplicatedToUnreducedOp>(op);
}

/// The name of the attribute in which an sdy op keeps the sharding of its only
/// result; empty for other ops.
static StringRef getOwnShardingAttrName(Operation *op) {
  if (isa<ShardingConstraintOp, ReshardOp, DataFlowEdgeOp>(op))
    return "sharding";
  if (isCollective(op))
    return "out_sharding";
  return {};
}

static TensorShardingAttr getSharding(OpResult result) {
  Operation *op = result.getOwner();
  if (StringRef name = getOwnShardingAttrName(op); !name.empty())
    return op->getAttrOfType<TensorShardingAttr>(name);
  auto shardings = getResultShardings(op);
  unsigned index = result.getResultNumber();
  return index < shardings.size() ? shardings[index] : TensorShardingAttr();
}

static void setSharding(OpResult result, TensorShardingAttr sharding) {
  Operation *op = result.getOwner();
  if (StringRef name = getOwnShardingAttrName(op); !name.empty()) {
    op->setAttr(name, sharding);
    return;
  }
  auto shardings = getResultShardings(op);
  shardings.resize(op->getNumResults());
  shardings[result.getResultNumber()] = sharding;
  setResultShardings(op, shardings);
}

//===----------------------------------------------------------------------===//
// Function arguments and results
//===----------------------------------------------------------------------===//

TensorShardingAttr sdy::getArgSharding(func::FuncOp func, unsigned index) {
  return func.getArgAttrOfType<TensorShardingAttr>(index, kShardingAttr);
}

void sdy::setArgSharding(func::FuncOp func, unsigned index,
                         TensorShardingAttr sharding) {
  func.setArgAttr(index, kShardingAttr, sharding);
}

TensorShardingAttr sdy::getResultSharding(func::FuncOp func, unsigned index) {
  return func.getResultAttrOfType<TensorShardingAttr>(index, kShardingAttr);
}

void sdy::setResultSharding(func::FuncOp func, unsigned index,
                            TensorShardingAttr sharding) {
  func.setResultAttr(index, kShardingAttr, sharding);
}

//===----------------------------------------------------------------------===//
// Owners of data-flow edges
//===----------------------------------------------------------------------===//

DataFlowOpInterface sdy::getDataFlowOp(Value target) {
  if (auto result = dyn_cast<OpResult>(target))
    return dyn_cast<DataFlowOpInterface>(result.getOwner());
  auto arg = cast<BlockArgument>(target);
  if (Operation *parent = arg.getOwner()->getParentOp();
      parent && arg.getOwner()->isEntryBlock())
    return dyn_cast<DataFlowOpInterface>(parent);
  return {};
}

Value sdy::getEdgeOwner(Value target) {
  DataFlowOpInterface op = getDataFlowOp(target);
  return op ? op.getEdgeOwnerFromTarget(target) : Value();
}

/// Position of an owner in its family.
static size_t indexInFamily(DataFlowOpInterface op, Value owner) {
  if (auto arg = dyn_cast<BlockArgument>(owner)) {
    ArrayRef<BlockArgument> owners = op.getBlockArgumentEdgeOwners();
    return std::distance(owners.begin(), llvm::find(owners, arg));
  }
  ResultRange owners = op.getOpResultEdgeOwners();
  return std::distance(owners.begin(), llvm::find(owners, owner));
}

static SmallVector<TensorShardingAttr>
getFamilyShardings(DataFlowOpInterface op, Value owner) {
  return isa<BlockArgument>(owner) ? op.getBlockArgumentEdgeOwnerShardings()
                                   : op.getOpResultEdgeOwnerShardings();
}

TensorShardingAttr sdy::getEdgeOwnerSharding(DataFlowOpInterface op,
                                             Value owner) {
  auto shardings = getFamilyShardings(op, owner);
  size_t index = indexInFamily(op, owner);
  return index < shardings.size() ? shardings[index] : TensorShardingAttr();
}

static void setEdgeOwnerSharding(DataFlowOpInterface op, Value owner,
                                 TensorShardingAttr sharding) {
  auto shardings = getFamilyShardings(op, owner);
  bool isArgument = isa<BlockArgument>(owner);
  if (shardings.empty()) {
    auto types =
        isArgument
            ? llvm::map_to_vector(op.getBlockArgumentEdgeOwners(),
                                  [](Value value) { return value.getType(); })
            : llvm::to_vector(op.getOpResultEdgeOwners().getTypes());
    shardings.resize(types.size());
    shardings[indexInFamily(op, owner)] = sharding;
    if (!fillShardings(shardings, types, op))
      return;
  }
  shardings[indexInFamily(op, owner)] = sharding;
  if (isArgument)
    op.setBlockArgumentEdgeOwnerShardings(shardings);
  else
    op.setOpResultEdgeOwnerShardings(shardings);
}

//===----------------------------------------------------------------------===//
// Any value
//===----------------------------------------------------------------------===//

TensorShardingAttr sdy::getSharding(Value value) {
  if (DataFlowOpInterface op = getDataFlowOp(value)) {
    Value owner = op.getEdgeOwnerFromTarget(value);
    if (!owner)
      return {};
    if (DataFlowEdgeOp edge = DataFlowEdgeOp::getFor(owner))
      return edge.getShardingAttr();
    return getEdgeOwnerSharding(op, owner);
  }
  if (auto result = dyn_cast<OpResult>(value))
    return ::getSharding(result);
  auto arg = cast<BlockArgument>(value);
  auto func = dyn_cast_or_null<func::FuncOp>(arg.getOwner()->getParentOp());
  return func && arg.getOwner()->isEntryBlock()
             ? getArgSharding(func, arg.getArgNumber())
             : TensorShardingAttr();
}

void sdy::setSharding(Value value, TensorShardingAttr sharding) {
  if (!sharding)
    return;
  if (DataFlowOpInterface op = getDataFlowOp(value)) {
    Value owner = op.getEdgeOwnerFromTarget(value);
    if (!owner)
      return;
    if (DataFlowEdgeOp edge = DataFlowEdgeOp::getFor(owner))
      edge.setShardingAttr(sharding);
    else
      setEdgeOwnerSharding(op, owner, sharding);
    return;
  }
  if (auto result = dyn_cast<OpResult>(value))
    return ::setSharding(result, sharding);
  auto arg = cast<BlockArgument>(value);
  auto func = dyn_cast_or_null<func::FuncOp>(arg.getOwner()->getParentOp());
  if (func && arg.getOwner()->isEntryBlock())
    setArgSharding(func, arg.getArgNumber(), sharding);
}

bool sdy::canHaveSharding(Value value) {
  if (DataFlowOpInterface op = getDataFlowOp(value))
    return !!op.getEdgeOwnerFromTarget(value);
  auto arg = dyn_cast<BlockArgument>(value);
  return !arg ||
         (isa_and_nonnull<func::FuncOp>(arg.getOwner()->getParentOp()) &&
          arg.getOwner()->isEntryBlock());
}
