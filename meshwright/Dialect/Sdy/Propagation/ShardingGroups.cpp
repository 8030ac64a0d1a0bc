//===- ShardingGroups.cpp - Values that are split alike -------------------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

#include "meshwright/Dialect/Sdy/Propagation/ShardingGroups.h"

#include "meshwright/Dialect/Sdy/Shardings.h"
#include "mlir/IR/Builders.h"
#include "llvm/ADT/MapVector.h"
#include <map>

using namespace mlir;
using namespace mlir::sdy;

/// Replicated axes alone do not count.
static bool constrainsAny(TensorShardingAttr sharding) {
  return sharding && llvm::any_of(sharding.getDimShardings(),
                                  [](DimensionShardingAttr dim) {
                                    return dim.getIsClosed() ||
                                           !dim.emptyAxes();
                                  });
}

/// Where a value comes from, for messages.
static Location getDefinition(Value value) {
  if (Operation *op = value.getDefiningOp())
    return op->getLoc();
  return cast<BlockArgument>(value).getOwner()->getParentOp()->getLoc();
}

static void warnOfConflict(ArrayRef<ShardingGroupOp> members) {
  ShardingGroupOp first = members.front();
  InFlightDiagnostic diag =
      mlir::emitWarning(getDefinition(first.getInput()))
      << "the initial operand shardings on the sharding groups of groupID: "
      << first.getGroupId()
      << " do not match; open constraints keep the shardings of its members,";
  StringRef separator = " ";
  for (ShardingGroupOp op : members)
    if (TensorShardingAttr sharding = getSharding(op.getInput()))
      diag << std::exchange(separator, ", ") << sharding;
}

/// The constraints hold what the group settles on; the values keep theirs.
static void separateMembers(ArrayRef<ShardingGroupOp> members,
                            TensorShardingAttr onMesh) {
  OpBuilder builder(onMesh.getContext());
  for (ShardingGroupOp op : members) {
    Value value = op.getInput();
    builder.setInsertionPointAfterValue(value);
    auto constraint = ShardingConstraintOp::create(
        builder, value.getLoc(), value,
        TensorShardingAttr::getFullyOpenLike(value.getType(), onMesh));
    value.replaceAllUsesExcept(constraint, constraint);
  }
}

/// Whether two values can have one sharding. The axes of a manual computation are
/// not there in its body.
static bool canBeAlike(ShardingGroupOp a, ShardingGroupOp b) {
  return a.getInput().getType().getShape() ==
             b.getInput().getType().getShape() &&
         a->getParentOfType<ManualComputationOp>() ==
             b->getParentOfType<ManualComputationOp>();
}

ShardingGroups sdy::getShardingGroups(ModuleOp module) {
  // A DenseMap, the default, would reserve two of the ids.
  llvm::MapVector<int64_t, SmallVector<ShardingGroupOp>,
                  std::map<int64_t, unsigned>>
      groups;
  module.walk([&](ShardingGroupOp op) {
    // A module within this one knows other meshes.
    if (op->getParentOfType<ModuleOp>() != module)
      return;
    SmallVector<ShardingGroupOp> &members = groups[op.getGroupId()];
    if (members.empty() || canBeAlike(op, members.front()))
      members.push_back(op);
  });
  return llvm::map_to_vector(llvm::make_second_range(groups),
                             [](auto &members) { return std::move(members); });
}

void sdy::synchronizeShardingGroups(const ShardingGroups &groups) {
  for (ArrayRef<ShardingGroupOp> members : groups) {
    if (members.size() < 2)
      continue;
    TensorShardingAttr common;
    bool isConflict = false;
    for (ShardingGroupOp op : members) {
      TensorShardingAttr sharding = getSharding(op.getInput());
      if (!constrainsAny(sharding))
        continue;
      isConflict |= common && common != sharding;
      if (!common)
        common = sharding;
    }
    if (isConflict) {
      warnOfConflict(members);
      separateMembers(members, common);
      continue;
    }
    for (ShardingGroupOp op : members)
      setSharding(op.getInput(), common);
  }
}
