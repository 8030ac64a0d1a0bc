//===- ShardingRules.h - Which dimensions are split together ----*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_DIALECT_SDY_RULES_SHARDINGRULES_H
#define MESHWRIGHT_DIALECT_SDY_RULES_SHARDINGRULES_H

#include "meshwright/Dialect/Sdy/SdyDialect.h"

namespace mlir::sdy {

/// The rule on the op (`sdy.sharding_rule`), or else what the op's kind has;
/// null if shardings do not pass through it. Warns once per process about ops
/// that nothing is known about. Safe to call from several threads.
OpShardingRuleAttr getShardingRule(Operation *op);

/// As above, and stores the rule on the op.
OpShardingRuleAttr getOrCreateShardingRule(Operation *op);

/// Whether the op computes each element of its result from those at the same
/// place in its operands, and so costs no more however it is sharded.
bool isElementwiseForSharding(Operation *op);

} // namespace mlir::sdy

#endif
