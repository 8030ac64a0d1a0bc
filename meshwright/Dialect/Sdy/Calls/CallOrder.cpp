//===- CallOrder.cpp - Which functions func.call calls --------------------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

#include "meshwright/Dialect/Sdy/Calls/CallOrder.h"
#include "meshwright/Calls/InlinedSize.h"

using namespace mlir;
using namespace mlir::sdy;
using namespace meshwright;

FailureOr<CallOrder> mlir::sdy::getOrderOfInlining(ModuleOp module,
                                                   const SymbolTable &symbols,
                                                   int64_t maxInlinedOps) {
  CallOrder order = getCallOrder(module, symbols, isFuncCall);
  if (order.recursiveCalls.empty()) {
    if (failed(verifyInlinedSize(order, symbols, isFuncCall, maxInlinedOps)))
      return failure();
    return order;
  }
  CallOpInterface call = order.recursiveCalls.front();
  func::FuncOp callee = getCallee(call, symbols);
  InFlightDiagnostic diag =
      call.emitError() << "recursive call of @" << callee.getSymName()
                       << "; shardings can only be propagated through calls "
                          "that end";
  diag.attachNote(callee.getLoc())
      << "this function calls itself, directly or through others";
  return diag;
}
