//===- BlockTimes.cpp - When the ops of a block run -----------------------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

#include "meshwright/Export/Offload/BlockTimes.h"
#include "meshwright/Dialect/Mpmd/BufferAttributes.h"
#include "meshwright/Export/Pairs/TransferTimes.h"

using namespace mlir;
using namespace mlir::mpmd;

FragmentOp BlockTimes::findAwaited(
    TransferOp transfer,
    const llvm::MapVector<StringAttr, std::vector<FragmentOp>> &before) {
  if (!transfer->hasAttr(kDelayedAttr))
    return nullptr;
  auto target = cast<MeshTensorType>(transfer.getType());
  const auto *queue =
      before.find(StringAttr::get(transfer.getContext(), target.getMeshName()));
  return queue == before.end() ? nullptr : queue->second.back();
}

FailureOr<BlockTimes>
BlockTimes::find(func::FuncOp func, OverlapTimes &times,
                 const meshwright::Device &device,
                 const DenseMap<Operation *, double> &earliest) {
  BlockTimes result;
  TransferTimes transfers(func, device);
  for (Operation &op : func.front().without_terminator()) {
    Span span{earliest.lookup(&op), 0};
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
      if (FragmentOp last = findAwaited(transfer, result.queues))
        span.start = std::max(span.start, result.spans[last].stop);
      seconds = transfers.measure(transfer);
    }
    if (failed(seconds))
      return failure();
    span.stop = span.start + *seconds;
    result.spans[&op] = span;
    result.end = std::max(result.end, span.stop);
  }
  return std::move(result);
}

DenseMap<Operation *, double>
BlockTimes::findLatestStarts(Block &block,
                             function_ref<bool(FragmentOp)> isFixed) const {
  // What each op waits for, beside its operands.
  DenseMap<Operation *, Operation *> before;
  llvm::MapVector<StringAttr, std::vector<FragmentOp>> last;
  for (Operation &op : block.without_terminator()) {
    if (auto fragment = dyn_cast<FragmentOp>(op)) {
      auto &queue = last[fragment.getMeshNameAttr()];
      if (!queue.empty())
        before[&op] = queue.back();
      queue.assign(1, fragment);
    } else if (auto transfer = dyn_cast<TransferOp>(op)) {
      if (FragmentOp awaited = findAwaited(transfer, last))
        before[&op] = awaited;
    }
  }
  DenseMap<Operation *, double> stops, starts;
  for (Operation &op : llvm::reverse(block.without_terminator())) {
    Span span = spans.lookup(&op);
    auto bound = stops.find(&op);
    double stop = bound == stops.end() ? end : bound->second;
    double start = std::max(span.start, stop - (span.stop - span.start));
    if (auto fragment = dyn_cast<FragmentOp>(op); fragment && isFixed(fragment))
      start = span.start;
    starts[&op] = start;
    auto mustStop = [&](Operation *earlier) {
      if (earlier) {
        double &latest = stops.try_emplace(earlier, end).first->second;
        latest = std::min(latest, start);
      }
    };
    mustStop(before.lookup(&op));
    for (Value operand : op.getOperands())
      mustStop(operand.getDefiningOp());
  }
  return starts;
}
