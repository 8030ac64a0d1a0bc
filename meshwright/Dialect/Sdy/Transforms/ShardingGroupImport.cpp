//===- ShardingGroupImport.cpp --------------------------------------------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// A value in two groups makes all members of both equal, so groups with a
// common value are one. Ids become dense, in the order of the smallest id of
// each.
//
//===----------------------------------------------------------------------===//

#include "meshwright/Dialect/Sdy/SdyDialect.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/DenseSet.h"
#include "llvm/ADT/IntEqClasses.h"
#include <map>

#define GEN_PASS_DEF_SHARDINGGROUPIMPORTPASS
#include "meshwright/Dialect/Sdy/Transforms/Passes.h"

using namespace mlir;
using namespace mlir::sdy;

namespace {

/// The groups of a module while they are united.
class Groups {
public:
  explicit Groups(ModuleOp module) {
    module.walk([&](ShardingGroupOp op) { ops.push_back(op); });
  }

  void unite() {
    std::map<int64_t, unsigned> ranks; // A DenseMap would reserve two ids.
    for (ShardingGroupOp op : ops)
      ranks.try_emplace(op.getGroupId());
    unsigned numIds = 0;
    for (unsigned &rank : llvm::make_second_range(ranks))
      rank = numIds++;

    llvm::IntEqClasses united(numIds);
    llvm::DenseMap<Value, unsigned> groupOf;
    for (ShardingGroupOp op : ops) {
      unsigned rank = ranks.at(op.getGroupId());
      auto [known, isNew] = groupOf.try_emplace(op.getInput(), rank);
      if (!isNew)
        united.join(known->second, rank);
    }
    // Numbers the unions in the order of their smallest members.
    united.compress();
    for (ShardingGroupOp op : ops)
      op.setGroupId(united[ranks.at(op.getGroupId())]);
  }

  /// Erases all but the first op of each value, which are in one group by now.
  /// Returns how many.
  unsigned eraseDuplicates() {
    size_t before = ops.size();
    llvm::DenseSet<Value> seen; // Membership only: its order never shows.
    llvm::erase_if(ops, [&](ShardingGroupOp op) {
      if (seen.insert(op.getInput()).second)
        return false;
      op.erase();
      return true;
    });
    return before - ops.size();
  }

  LogicalResult verify() {
    llvm::DenseMap<int64_t, ShardingGroupOp> firstOfGroup; // Ids are dense.
    for (ShardingGroupOp op : ops) {
      ShardingGroupOp first =
          firstOfGroup.try_emplace(op.getGroupId(), op).first->second;
      if (failed(verifyMembers(first, op)))
        return failure();
    }
    return success();
  }

private:
  static LogicalResult verifyMembers(ShardingGroupOp first,
                                     ShardingGroupOp op) {
    if (first->getParentOfType<ManualComputationOp>() !=
        op->getParentOfType<ManualComputationOp>())
      return op.emitError() << "members of a sharding group must be in the "
                               "same manual computation, but group "
                            << op.getGroupId() << " has others elsewhere";
    auto type = cast<RankedTensorType>(op.getInput().getType());
    auto firstType = cast<RankedTensorType>(first.getInput().getType());
    if (type.getShape() == firstType.getShape())
      return success();
    return op.emitError() << "members of a sharding group must have the same "
                             "shape, got "
                          << firstType << " and " << type << " in group "
                          << op.getGroupId();
  }

  SmallVector<ShardingGroupOp> ops;
};

struct ShardingGroupImportPass
    : sdy::impl::ShardingGroupImportPassBase<ShardingGroupImportPass> {
  void runOnOperation() override {
    Groups groups(getOperation());
    groups.unite();
    numErased += groups.eraseDuplicates();
    if (failed(groups.verify()))
      signalPassFailure();
  }
};

} // namespace
