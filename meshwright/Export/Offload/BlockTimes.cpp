//===- BlockTimes.cpp - When the ops of a block run -----------------------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

#include "meshwright/Export/Offload/BlockTimes.h"
#include "meshwright/Cost/TensorBytes.h"
#include "meshwright/Dialect/Mpmd/BufferAttributes.h"
#include "meshwright/Dialect/Mpmd/Functions.h"
#include "llvm/ADT/StringMap.h"

using namespace mlir;
using namespace mlir::mpmd;
using meshwright::DeviceRange;
using meshwright::Route;

namespace {
/// What transfers take.
class TransferTimes {
public:
  TransferTimes(func::FuncOp func, const meshwright::Device &device)
      : device(device) {
    DeviceRange range;
    for (NamedMeshAttr mesh : getTopology(func).getMeshes()) {
      range.count = std::max<int64_t>(1, mesh.getMesh().getTotalSize());
      ranges[mesh.getName()] = range;
      range.first += range.count;
    }
  }

  FailureOr<double> measure(TransferOp transfer) const {
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
    auto bytes = static_cast<double>(
        meshwright::countBytes(to.getLocalTensorType(*mesh)));
    return meshwright::getTransferTime(
        meshwright::countTransferBytes(bytes, source.count, target.count),
        device, route);
  }

private:
  const meshwright::Device &device;
  llvm::StringMap<DeviceRange> ranges;
};
} // namespace

FailureOr<BlockTimes> BlockTimes::find(func::FuncOp func, OverlapTimes &times,
                                       const meshwright::Device &device) {
  BlockTimes result;
  TransferTimes transfers(func, device);
  for (Operation &op : func.front().without_terminator()) {
    Span span{0, 0};
    for (Value operand : op.getOperands())
      if (Operation *producer = operand.getDefiningOp())
        span.start = std::max(span.start, result.spans.lookup(producer).stop);
    FailureOr<double> seconds = 0.0;
    if (auto fragment = dyn_cast<FragmentOp>(op)) {
      auto &queue = result.queues[fragment.getMeshNameAttr()];
      if (!queue.empty())
        span.start = std::max(span.start, result.spans[queue.back()].stop);
      queue.push_back(fragment);
      seconds = times.measure(fragment);
    } else if (auto transfer = dyn_cast<TransferOp>(op)) {
      if (transfer->hasAttr(kDelayedAttr)) {
        auto target = cast<MeshTensorType>(transfer.getType());
        const auto *queue = result.queues.find(
            StringAttr::get(op.getContext(), target.getMeshName()));
        if (queue != result.queues.end())
          span.start =
              std::max(span.start, result.spans[queue->second.back()].stop);
      }
      seconds = transfers.measure(transfer);
    }
    if (failed(seconds))
      return failure();
    span.stop = span.start + *seconds;
    result.spans[&op] = span;
  }
  return std::move(result);
}
