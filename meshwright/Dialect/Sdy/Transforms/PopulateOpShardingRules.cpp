//===- PopulateOpShardingRules.cpp ----------------------------------------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// Propagation asks for rules as it goes and leaves them on the ops it tried.
// This pass asks for all of them, so that they can be read.
//
//===----------------------------------------------------------------------===//

#include "meshwright/Dialect/Sdy/Rules/ShardingRules.h"

#define GEN_PASS_DEF_POPULATEOPSHARDINGRULESPASS
#include "meshwright/Dialect/Sdy/Transforms/Passes.h"

using namespace mlir;
using namespace mlir::sdy;

namespace {
struct PopulateOpShardingRulesPass
    : sdy::impl::PopulateOpShardingRulesPassBase<PopulateOpShardingRulesPass> {
  void runOnOperation() override {
    getOperation().walk([&](Operation *op) {
      if (getOrCreateShardingRule(op))
        ++numRules;
    });
  }
};
} // namespace
