//===- SendOrder.cpp - In which order pairs send --------------------------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

#include "meshwright/Export/Pairs/SendOrder.h"
#include "llvm/ADT/STLExtras.h"

using namespace mlir;
using namespace mlir::mpmd;

/// The transfers of what a pair has made: those of the first part first.
static SmallVector<TransferOp> getSends(FragmentOp fused) {
  SmallVector<TransferOp> sends;
  for (OpResult result : fused->getResults()) {
    size_t begin = sends.size();
    for (Operation *user : result.getUsers())
      if (isa<TransferOp>(user) && user->getBlock() == fused->getBlock())
        sends.push_back(cast<TransferOp>(user));
    llvm::sort(sends.begin() + begin, sends.end(),
               [](TransferOp send, TransferOp other) {
                 return send->isBeforeInBlock(other);
               });
  }
  return sends;
}

void mpmd::sendInOrder(ArrayRef<FragmentOp> allFused) {
  // All places are asked for before anything moves, so that the block is numbered once.
  SmallVector<std::pair<SmallVector<TransferOp>, Operation *>> moves;
  for (FragmentOp fused : allFused) {
    SmallVector<TransferOp> sends = getSends(fused);
    if (sends.empty())
      continue;
    Operation *first =
        *llvm::min_element(sends, [](TransferOp send, TransferOp other) {
          return send->isBeforeInBlock(other);
        });
    moves.emplace_back(std::move(sends), first);
  }
  for (auto &[sends, next] : moves)
    for (TransferOp send : sends)
      if (send == next)
        next = next->getNextNode();
      else
        send->moveBefore(next);
}
