//===- RemoveTransferCycles.cpp - Values need not come home ---------------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// Passes that place values mesh by mesh may send a value away and back:
//
//   %1 = mpmd.transfer %0 : (!m1) -> !m2
//   %2 = mpmd.transfer %1 : (!m2) -> !m1     becomes   %0
//
// The value that started the round trip still exists, so readers of the
// last hop can read it. Only complete types count: a copy with another sharding
// or memory kind is another value. A trip over host memory was asked for by the
// user, to free device memory in the meantime, and stays.
//
//===----------------------------------------------------------------------===//

#include "meshwright/Dialect/Mpmd/MpmdDialect.h"
#include "mlir/IR/PatternMatch.h"

#define GEN_PASS_DEF_REMOVETRANSFERCYCLESPASS
#include "meshwright/Import/Units/Passes.h"

using namespace mlir;
using namespace mlir::mpmd;

/// The nearest value upstream of `last` that already has its result type; null
/// if there is none, or if the way there passes through host memory.
static Value findOrigin(TransferOp last) {
  for (TransferOp hop = last; hop;
       hop = hop.getTensor().getDefiningOp<TransferOp>()) {
    auto type = cast<MeshTensorType>(hop.getTensor().getType());
    StringAttr kind = type.getMemoryKind();
    if (kind && kind.getValue() != "device")
      return {};
    if (type == last.getType())
      return hop.getTensor();
  }
  return {};
}

namespace {
struct RemoveTransferCyclesPass
    : mpmd::impl::RemoveTransferCyclesPassBase<RemoveTransferCyclesPass> {
  void runOnFunction(func::FuncOp func) override {
    // From last to first, so that several rounds collapse onto the first one.
    IRRewriter rewriter(&getContext());
    for (Operation &op :
         llvm::make_early_inc_range(llvm::reverse(func.front()))) {
      auto transfer = dyn_cast<TransferOp>(op);
      if (!transfer)
        continue;
      if (Value origin = findOrigin(transfer)) {
        rewriter.replaceOp(transfer, origin);
        ++numTransfers;
      }
    }
  }
};
} // namespace
