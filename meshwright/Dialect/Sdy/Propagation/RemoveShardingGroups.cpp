//===- RemoveShardingGroups.cpp -------------------------------------------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// A group only says something to propagation. Afterwards its members have equal
// shardings and the group is of no use:
//
//   sdy.sharding_group %0 group_id=0     becomes nothing
//
//===----------------------------------------------------------------------===//

#include "meshwright/Dialect/Sdy/SdyDialect.h"

#define GEN_PASS_DEF_REMOVESHARDINGGROUPSPASS
#include "meshwright/Dialect/Sdy/Propagation/Passes.h"

using namespace mlir;
using namespace mlir::sdy;

namespace {
struct RemoveShardingGroupsPass
    : sdy::impl::RemoveShardingGroupsPassBase<RemoveShardingGroupsPass> {
  void runOnOperation() override {
    getOperation().walk([&](ShardingGroupOp op) {
      op.erase();
      ++numGroups;
    });
  }
};
} // namespace
