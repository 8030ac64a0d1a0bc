//===- DropShardingRules.cpp ----------------------------------------------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// Propagation leaves on each op the rule it used. Only those that the user
// wrote mean something to others.
//
//===----------------------------------------------------------------------===//

#include "meshwright/Dialect/Sdy/SdyDialect.h"

#define GEN_PASS_DEF_DROPSHARDINGRULESPASS
#include "meshwright/Dialect/Sdy/Transforms/Passes.h"

using namespace mlir;
using namespace mlir::sdy;

namespace {
struct DropShardingRulesPass
    : sdy::impl::DropShardingRulesPassBase<DropShardingRulesPass> {
  void runOnOperation() override {
    getOperation().walk([&](Operation *op) {
      auto rule = op->getAttrOfType<OpShardingRuleAttr>(kShardingRuleAttr);
      if (!rule || rule.isCustom())
        return;
      op->removeAttr(kShardingRuleAttr);
      ++numRules;
    });
  }
};
} // namespace
