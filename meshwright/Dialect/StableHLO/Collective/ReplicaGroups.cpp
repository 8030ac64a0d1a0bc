//===- ReplicaGroups.cpp - Who takes part in a collective -----------------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

#include "meshwright/Dialect/StableHLO/Collective/ReplicaGroups.h"
#include "meshwright/Dialect/StableHLO/ShapeArithmetic.h"
#include <set>

using namespace mlir;
using namespace mlir::stablehlo;

LogicalResult stablehlo::verifyReplicaGroups(std::optional<Location> location,
                                             Attribute groups,
                                             const ReplicaGroupRules &rules) {
  auto matrix = dyn_cast<DenseIntElementsAttr>(groups);
  if (!matrix)
    return success();
  ShapedType type = matrix.getType();
  if (type.getRank() != 2)
    return emitOptionalError(
        location, "replica groups should be a rank 2 tensor, but are ", type);
  if (rules.groupSize && type.getDimSize(1) != *rules.groupSize)
    return emitOptionalError(location, "group size of replica_groups must be ",
                             *rules.groupSize, ", but is ", type.getDimSize(1));
  // A splat may have more elements than can be counted; two are enough to look at.
  int64_t count = countElements(type).value_or(2);
  if (matrix.isSplat())
    count = std::min<int64_t>(count, 2);
  std::set<int64_t> seen; // A DenseSet would reserve two of the ids.
  for (int64_t id :
       llvm::make_range(matrix.value_begin<int64_t>(),
                        std::next(matrix.value_begin<int64_t>(), count))) {
    if (id == -1 && rules.allowsPadding)
      continue;
    if (id < 0)
      return emitOptionalError(
          location, "replica_groups values must be positive, found an id of ",
          id);
    if (!seen.insert(id).second)
      return emitOptionalError(location, "replica id #", id,
                               " seen more than once");
  }
  if (!rules.coversAllIds)
    return success();
  for (int64_t id = 0, end = seen.size(); id < end; ++id)
    if (!seen.count(id))
      return emitOptionalError(location, "replica id #", id,
                               " not seen in replica groups");
  return success();
}

LogicalResult stablehlo::verifyGlobalDeviceIds(Operation *op, Attribute groups,
                                               ChannelHandleAttr channel,
                                               int64_t smallestHandle) {
  auto matrix = dyn_cast<DenseIntElementsAttr>(groups);
  if (matrix && matrix.empty())
    return op->emitOpError() << "replica_groups cannot be empty when "
                                "use_global_device_ids is set";
  int64_t handle = channel ? channel.getHandle() : 0;
  if (handle < smallestHandle)
    return op->emitOpError()
           << "channel_id must be at least " << smallestHandle
           << " when use_global_device_ids is set, but is " << handle;
  return success();
}
