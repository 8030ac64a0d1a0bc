//===- StartOrder.cpp - The ops of a block, as they start -----------------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

#include "meshwright/Export/Offload/StartOrder.h"
#include "meshwright/Dialect/Mpmd/BufferAttributes.h"
#include "meshwright/Export/Offload/BufferUses.h"
#include "llvm/ADT/STLExtras.h"

using namespace mlir;
using namespace mlir::mpmd;

void mpmd::sortByStart(Block &block, const BlockTimes &times) {
  // What has to come before an op has no larger key, and comes before it now.
  std::vector<std::pair<double, Operation *>> order;
  DenseMap<Operation *, double> keys;
  DenseMap<Attribute, FragmentOp> lastOfMesh;
  for (Operation &op : block.without_terminator()) {
    double key = 0;
    auto comeAfter = [&](Operation *before) {
      if (before)
        key = std::max(key, keys.lookup(before));
    };
    auto comeAfterEnd = [&](Operation *before) {
      comeAfter(before);
      if (isa_and_present<FragmentOp>(before))
        key = std::max(key, times.get(before).stop);
    };
    for (OpOperand &operand : op.getOpOperands()) {
      comeAfterEnd(operand.get().getDefiningOp());
      if (isa<FragmentOp>(op) && isGivenUp(operand))
        for (Operation *reader : operand.get().getUsers())
          comeAfter(reader);
    }
    if (auto fragment = dyn_cast<FragmentOp>(op)) {
      FragmentOp &last = lastOfMesh[fragment.getMeshNameAttr()];
      comeAfterEnd(last);
      key = std::max(key, times.get(fragment).start);
      last = fragment;
    } else if (auto transfer = dyn_cast<TransferOp>(op);
               transfer && transfer->hasAttr(kDelayedAttr)) {
      auto target = cast<MeshTensorType>(transfer.getType());
      comeAfterEnd(lastOfMesh.lookup(
          StringAttr::get(op.getContext(), target.getMeshName())));
    }
    keys[&op] = key;
    order.emplace_back(key, &op);
  }
  llvm::stable_sort(
      order, [](const auto &a, const auto &b) { return a.first < b.first; });
  for (auto [key, op] : order)
    op->moveBefore(&block, std::prev(block.end()));
}
