//===- DebugAttributes.h - Where axes come from, in the IR ------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_DIALECT_SDY_PROPAGATION_DEBUGATTRIBUTES_H
#define MESHWRIGHT_DIALECT_SDY_PROPAGATION_DEBUGATTRIBUTES_H

#include "meshwright/Dialect/Sdy/Propagation/PropagationLog.h"
#include "meshwright/Dialect/Sdy/Propagation/Table/ShardingTable.h"
#include "meshwright/Dialect/Sdy/Shardings.h"

namespace mlir::sdy {

inline constexpr StringLiteral kShardingOriginsAttr = "sdy.sharding_origins";
inline constexpr StringLiteral kShardingOriginNameAttr =
    "sdy.sharding_origin_name";

/// Writes the steps on the ops where they happened; those of all function
/// results on the first, where Shardy has them.
void writeEdges(const PropagationLog &log, const ShardingTable &table,
                func::FuncOp main);

} // namespace mlir::sdy

#endif
