//===- InlinedSize.cpp - How much inlining would make ---------------------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

#include "meshwright/Calls/InlinedSize.h"
#include "llvm/ADT/DenseSet.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace meshwright;

InlinedSize::InlinedSize(const CallOrder &order, const SymbolTable &symbols,
                         CallFilter isInlined) {
  for (func::FuncOp func : order.calleesFirst) {
    uint64_t size = 0;
    func.walk([&](Operation *op) {
      if (op == func)
        return;
      ++size;
      if (!isInlined(op))
        return;
      // A callee that has no size yet is in the midst of calling this function.
      auto callee = sizes.find(getCallee(cast<CallOpInterface>(op), symbols));
      if (callee == sizes.end())
        return;
      size = llvm::SaturatingAdd(size, callee->second);
    });
    sizes[func] = size;
  }
}

LogicalResult meshwright::verifyInlinedSize(const CallOrder &order,
                                            const SymbolTable &symbols,
                                            CallFilter isInlined,
                                            int64_t limit) {
  InlinedSize inlined(order, symbols, isInlined);
  SmallVector<std::pair<Operation *, func::FuncOp>> calls;
  DenseSet<Operation *> called; // Membership only: its order never shows.
  for (func::FuncOp func : llvm::reverse(order.calleesFirst))
    func.walk([&](Operation *op) {
      if (!isInlined(op))
        return;
      if (func::FuncOp callee = getCallee(cast<CallOpInterface>(op), symbols)) {
        calls.push_back({op, callee});
        if (callee != func)
          called.insert(callee);
      }
    });

  uint64_t total = 0;
  for (auto [call, callee] : calls) {
    auto caller = call->getParentOfType<func::FuncOp>();
    if (called.contains(caller) && !caller.isPublic())
      continue;
    total = llvm::SaturatingAdd(total, inlined.getNumOps(callee));
    if (total <= static_cast<uint64_t>(limit))
      continue;
    InFlightDiagnostic diag =
        call->emitError()
        << "inlining the calls of this program makes more than " << limit
        << " operations; write a loop instead of calls of calls, or allow more "
           "by the option mpmd_max_inlined_ops of a configuration, "
           "max-inlined-ops of a pass";
    diag.attachNote(callee.getLoc())
        << "@" << callee.getSymName() << " alone has "
        << inlined.getNumOps(callee)
        << " operations once the calls in it are inlined";
    return diag;
  }
  return success();
}
