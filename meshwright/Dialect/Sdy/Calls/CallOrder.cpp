//===- CallOrder.cpp - Which functions func.call calls --------------------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

#include "meshwright/Dialect/Sdy/Calls/CallOrder.h"
#include "meshwright/Calls/InlinedSize.h"
#include "meshwright/Dialect/Sdy/SdyDialect.h"
#include "llvm/ADT/StringSet.h"

using namespace mlir;
using namespace mlir::sdy;
using namespace meshwright;

FailureOr<CallOrder> mlir::sdy::getOrderOfInlining(ModuleOp module,
                                                   const SymbolTable &symbols,
                                                   int64_t maxInlinedOps) {
  CallOrder order = getCallOrder(module, symbols, isFuncCall);
  if (order.recursiveCalls.empty()) {
    if (order.hasCalls &&
        failed(verifyInlinedSize(order, symbols, isFuncCall, maxInlinedOps)))
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

LogicalResult mlir::sdy::verifyManualAxes(func::CallOp call,
                                          func::FuncOp callee) {
  llvm::StringSet<> manual;
  for (auto around = call->getParentOfType<ManualComputationOp>(); around;
       around = around->getParentOfType<ManualComputationOp>())
    for (StringAttr axis : around.getManualAxes())
      manual.insert(axis.getValue());
  if (manual.empty())
    return success();
  AxisRefAttr found;
  Operation *place = nullptr;
  callee->walk([&](Operation *op) {
    op->getAttrDictionary().walk([&](AxisRefAttr axis) {
      if (manual.contains(axis.getName()))
        found = axis;
      return found ? WalkResult::interrupt() : WalkResult::advance();
    });
    place = op;
    return found ? WalkResult::interrupt() : WalkResult::advance();
  });
  if (!found)
    return success();
  InFlightDiagnostic diag =
      call.emitError() << "axis " << found.toString()
                       << " is manual around this call of @"
                       << callee.getSymName()
                       << ", which is sharded on it; call a function without "
                          "shardings on manual axes";
  diag.attachNote(place->getLoc()) << "sharded here";
  return diag;
}
