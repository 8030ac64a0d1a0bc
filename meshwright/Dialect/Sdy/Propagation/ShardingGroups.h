//===- ShardingGroups.h - Values that are split alike -----------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_DIALECT_SDY_PROPAGATION_SHARDINGGROUPS_H
#define MESHWRIGHT_DIALECT_SDY_PROPAGATION_SHARDINGGROUPS_H

#include "mlir/IR/BuiltinOps.h"

namespace mlir::sdy {

/// Gives all members of a group the sharding that those with one agree on. If
/// they do not agree, warns and puts open constraints behind the members, which
/// become the members instead.
void synchronizeShardingGroups(ModuleOp module);

} // namespace mlir::sdy

#endif
