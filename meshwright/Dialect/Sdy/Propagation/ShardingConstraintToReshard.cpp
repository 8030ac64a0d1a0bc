//===- ShardingConstraintToReshard.cpp ------------------------------------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// Propagation reads a constraint as a request that propagates. What is left of it
// afterwards is the change of sharding between its operand and its result:
//
//   %1 = sdy.sharding_constraint %0 …    becomes   %1 = sdy.reshard %0 …
//
//===----------------------------------------------------------------------===//

#include "meshwright/Dialect/Sdy/SdyDialect.h"
#include "mlir/IR/Builders.h"

#define GEN_PASS_DEF_SHARDINGCONSTRAINTTORESHARDPASS
#include "meshwright/Dialect/Sdy/Propagation/Passes.h"

using namespace mlir;
using namespace mlir::sdy;

namespace {
struct ShardingConstraintToReshardPass
    : sdy::impl::ShardingConstraintToReshardPassBase<
          ShardingConstraintToReshardPass> {
  void runOnOperation() override {
    getOperation().walk([&](ShardingConstraintOp op) {
      OpBuilder builder(op);
      auto reshard = ReshardOp::create(builder, op.getLoc(), op.getInput(),
                                       op.getShardingAttr());
      reshard->setDiscardableAttrs(op->getDiscardableAttrDictionary());
      op.replaceAllUsesWith(reshard.getResult());
      op.erase();
      ++numReshards;
    });
  }
};
} // namespace
