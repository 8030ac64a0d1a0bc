//===- ShardingGroups.h - Values that are split alike -----------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_DIALECT_SDY_PROPAGATION_SHARDINGGROUPS_H
#define MESHWRIGHT_DIALECT_SDY_PROPAGATION_SHARDINGGROUPS_H

#include "meshwright/Dialect/Sdy/SdyDialect.h"

namespace mlir::sdy {

using ShardingGroups = SmallVector<SmallVector<ShardingGroupOp>>;

/// The members of each group, in the order of their ops; groups in the order of
/// their first members. Members of another shape than the first one, which
/// sdy-sharding-group-import reports, are left out.
ShardingGroups getShardingGroups(ModuleOp module);

/// Gives all members of a group the sharding that those with one agree on. If
/// they do not agree, warns and puts open constraints after the members, which
/// become the members instead.
void synchronizeShardingGroups(const ShardingGroups &groups);

} // namespace mlir::sdy

#endif
