//===- DelayTransfersFromCpu.cpp ------------------------------------------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// Host memory is plenty, device memory is not: what waits on the host is
// fetched when it is needed.
//
//   %0 = transfer %host               %1 = fragment<"m", ["g"]> (%y)
//   %1 = fragment<"m", ["g"]> (%y) -> %0 = transfer %host
//   return %1, %0                     return %1, %0
//
//===----------------------------------------------------------------------===//

#include "meshwright/Dialect/Mpmd/MemoryKinds.h"
#include "meshwright/Order/BlockOrder.h"

#define GEN_PASS_DEF_DELAYTRANSFERSFROMCPUPASS
#include "meshwright/Export/Passes.h"

using namespace mlir;
using namespace mlir::mpmd;

static bool comesFromHost(TransferOp transfer) {
  MeshTensorType source = transfer.getTensor().getType();
  return source.isOnHost() || isCpuMesh(source.getMeshName());
}

namespace {
struct DelayTransfersFromCpuPass
    : mpmd::impl::DelayTransfersFromCpuPassBase<DelayTransfersFromCpuPass> {
  void runOnFunction(func::FuncOp func) override {
    BlockOrder order;
    IRRewriter rewriter(func.getContext(), &order);
    for (TransferOp transfer :
         llvm::to_vector(func.front().getOps<TransferOp>()))
      if (comesFromHost(transfer))
        if (Operation *user = order.getFirstUser(transfer)) {
          numMoved += transfer->getNextNode() != user;
          rewriter.moveOpBefore(transfer, user);
        }
  }
};
} // namespace
