//===- MoveTransfersToProducer.cpp - Transfers start early ----------------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// A transfer far after the op it reads separates that op from its
// other readers: a fragment between the two cannot be merged across it, and the
// value waits on its mesh for no reason.
//
//   %0 = fragment A                    %0 = fragment A
//   %1 = fragment B         becomes    %2 = transfer %0
//   %2 = transfer %0                   %1 = fragment B
//
// Each transfer moves once, in program order, so the transfers of one value end
// up in reverse order; later passes rely on exactly that order.
//
//===----------------------------------------------------------------------===//

#include "meshwright/Dialect/Mpmd/MpmdDialect.h"
#include "meshwright/Fragments/FragmentWalk.h"
#include "mlir/IR/Remarks.h"

#define GEN_PASS_DEF_MOVETRANSFERSTOPRODUCERPASS
#include "meshwright/Import/Units/Passes.h"

using namespace mlir;
using namespace mlir::mpmd;

/// COMPAT(reversed-transfers): Those of one producer, or of arguments, end up
/// in reverse, as each moves in front of those before.
static void moveToProducer(TransferOp transfer) {
  Value tensor = transfer.getTensor();
  if (Operation *producer = tensor.getDefiningOp())
    return transfer->moveAfter(producer);
  Block *block = cast<BlockArgument>(tensor).getOwner();
  transfer->moveBefore(block, block->begin());
}

namespace {
struct MoveTransfersToProducerPass
    : mpmd::impl::MoveTransfersToProducerPassBase<MoveTransfersToProducerPass> {
  void runOnFunction(func::FuncOp func) override {
    // Collected first: a moved transfer must not be met a second time.
    SmallVector<TransferOp> transfers;
    walkOutsideFragments<TransferOp>(
        func, [&](TransferOp transfer) { transfers.push_back(transfer); });
    for (TransferOp transfer : transfers) {
      Operation *before = transfer->getPrevNode();
      moveToProducer(transfer);
      if (transfer->getPrevNode() != before)
        remark::passed(transfer.getLoc(),
                       remark::RemarkOpts::name("moved").category("move"))
            << "the transfer to mesh \"" << transfer.getType().getMeshName()
            << "\" starts where its value is computed";
    }
    numTransfers += transfers.size();
  }
};
} // namespace
