//===- CallOps.cpp - Calls of MPMD functions ------------------------------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

#include "meshwright/Dialect/Mpmd/Fragments.h"
#include "meshwright/Dialect/Mpmd/Functions.h"
#include "meshwright/Dialect/Mpmd/MpmdDialect.h"
#include "meshwright/Dialect/Mpmd/Syntax/RegionSyntax.h"

using namespace mlir;
using namespace mlir::mpmd;

/// COMPAT(counter-kind): A counter that is no integer counts as none.
LogicalResult CallOp::verify() {
  auto counter = (*this)->getAttrOfType<IntegerAttr>(kCallCounterAttr);
  if (counter && !counter.getType().isUnsignedInteger(32)) // (C1)
    return emitError() << "`" << kCallCounterAttr
                       << "` must be of type uint32, written `ui32`, but is of "
                          "type "
                       << counter.getType();
  if (failed(verifyLists(*this))) // (C6)
    return failure();
  Operation *parent = (*this)->getParentOp();
  if (!isa_and_present<func::FuncOp, ForOp>(parent)) // (C2)
    return emitError() << "call of " << getCalleeAttr()
                       << " must be directly in a `func.func` or `mpmd.for`, "
                          "but its parent is `"
                       << (parent ? parent->getName().getStringRef() : "none")
                       << "`";
  auto caller = (*this)->getParentOfType<func::FuncOp>();
  if (caller && isMpmdFunction(caller) && !isEntryPointFunction(caller)) // (C3)
    return emitError() << "call of " << getCalleeAttr()
                       << " is in MPMD function @" << caller.getSymName()
                       << ", which is no entry point; only public MPMD "
                          "functions may call others";
  return success();
}

/// COMPAT(call-arity): Pairs are compared up to the shorter list.
static LogicalResult verifyTypes(CallOp call, TypeRange expected,
                                 TypeRange actual, StringRef what) {
  size_t pairs = std::min(expected.size(), actual.size());
  for (auto [index, calleeType, callType] :
       llvm::enumerate(expected.take_front(pairs), actual.take_front(pairs)))
    if (calleeType != callType)
      return call.emitError()
             << "Type mismatch: " << what << " #" << index << " of callee "
             << call.getCalleeAttr() << " has type " << calleeType
             << " but the call has " << callType;
  return success();
}

LogicalResult CallOp::verifySymbolUses(SymbolTableCollection &symbolTables) {
  auto callee = symbolTables.lookupNearestSymbolFrom<func::FuncOp>(
      *this, getCalleeAttr());
  if (!callee)
    return emitError() << "no function called " << getCalleeAttr()
                       << "; a call needs a func.func of that name in its "
                          "module";
  FunctionType type = callee.getFunctionType();
  if (failed(
          verifyTypes(*this, type.getInputs(), getOperandTypes(), "operand")) ||
      failed(verifyTypes(*this, type.getResults(), getResultTypes(), "result")))
    return failure();                              // (C4)
  if (isMpmdFunction(callee) && callee.isPublic()) // (C5)
    return emitError() << "callee " << getCalleeAttr()
                       << " has a topology and must be private, but is public; "
                          "write `func.func private`";
  return success();
}
