//===- ReplicaGroups.h - Who takes part in a collective ---------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_DIALECT_STABLEHLO_COLLECTIVE_REPLICAGROUPS_H
#define MESHWRIGHT_DIALECT_STABLEHLO_COLLECTIVE_REPLICAGROUPS_H

#include "meshwright/Dialect/StableHLO/StablehloDialect.h"

namespace mlir::stablehlo {

/// What one kind of collective asks of its groups.
struct ReplicaGroupRules {
  /// Smaller groups may be filled up with -1.
  bool allowsPadding = false;
  /// Together, the groups have every id from 0 to the largest one.
  bool coversAllIds = true;
  /// Members of a group, if the operation fixes it.
  std::optional<int64_t> groupSize;
};

/// Verifies groups given as a matrix of ids; mesh axes are left to the verifier
/// of symbol uses. Prints an error if there is a location.
LogicalResult verifyReplicaGroups(std::optional<Location> location,
                                  Attribute groups,
                                  const ReplicaGroupRules &rules);

/// Verifies that an operation with `use_global_device_ids` has groups, and a
/// channel whose handle is at least `smallestHandle`.
LogicalResult verifyGlobalDeviceIds(Operation *op, Attribute groups,
                                    ChannelHandleAttr channel,
                                    int64_t smallestHandle);

} // namespace mlir::stablehlo

#endif
