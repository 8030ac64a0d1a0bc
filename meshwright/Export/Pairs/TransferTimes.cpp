//===- TransferTimes.cpp - What transfers take ----------------------------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

#include "meshwright/Export/Pairs/TransferTimes.h"
#include "meshwright/Cost/TensorBytes.h"
#include "meshwright/Dialect/Mpmd/Functions.h"

using namespace mlir;
using namespace mlir::mpmd;
using meshwright::DeviceRange;
using meshwright::Route;

TransferTimes::TransferTimes(func::FuncOp func,
                             const meshwright::Device &device)
    : device(device) {
  DeviceRange range;
  for (NamedMeshAttr mesh : getTopology(func).getMeshes()) {
    range.count = std::max<int64_t>(1, mesh.getMesh().getTotalSize());
    ranges[mesh.getName()] = range;
    range.first += range.count;
  }
}

FailureOr<double> TransferTimes::measure(TransferOp transfer) const {
  auto from = cast<MeshTensorType>(transfer.getTensor().getType());
  auto to = cast<MeshTensorType>(transfer.getType());
  FailureOr<sdy::MeshAttr> mesh = getMeshOrError(transfer, to.getMeshName());
  if (failed(mesh))
    return failure();
  DeviceRange source = ranges.lookup(from.getMeshName());
  DeviceRange target = ranges.lookup(to.getMeshName());
  Route route = getRoute(source, target, device);
  if (from.isOnHost() || to.isOnHost())
    route = Route::Host;
  auto bytes =
      static_cast<double>(meshwright::countBytes(to.getLocalTensorType(*mesh)));
  return meshwright::getTransferTime(
      meshwright::countTransferBytes(bytes, source.count, target.count), device,
      route);
}

LogicalResult TransferTimes::measure(const BlockGraph &graph,
                                     MutableArrayRef<double> seconds) const {
  for (unsigned position = 0; position < graph.size(); ++position)
    if (auto transfer = dyn_cast<TransferOp>(graph.getOp(position))) {
      FailureOr<double> time = measure(transfer);
      if (failed(time))
        return failure();
      seconds[position] = *time;
    }
  return success();
}
