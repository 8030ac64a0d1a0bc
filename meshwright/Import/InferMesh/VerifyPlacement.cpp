//===- VerifyPlacement.cpp ------------------------------------------------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// The contract between import and what follows, as code: in an entry function
// there are only fragments, transfers and the return, and all that goes in or
// out is a mesh tensor. That a fragment's values live on its mesh is checked by
// the verifier of the op itself.
//
//===----------------------------------------------------------------------===//

#include "meshwright/Dialect/Mpmd/Functions.h"
#include "meshwright/Dialect/Mpmd/MpmdDialect.h"
#include "meshwright/Dialect/StableHLO/StablehloDialect.h"

#define GEN_PASS_DEF_VERIFYPLACEMENTPASS
#include "meshwright/Import/InferMesh/Passes.h"

using namespace mlir;
using namespace mlir::mpmd;

/// Tokens order effects and live nowhere.
static bool isPlaced(Type type) {
  return isa<MeshTensorType, stablehlo::TokenType>(type);
}

static LogicalResult verifyOp(Operation &op) {
  if (isa<FragmentOp, FragmentCallOp, TransferOp, func::ReturnOp>(op))
    return success();
  InFlightDiagnostic diag = op.emitOpError()
                            << "is not in a fragment after import; name the "
                               "computation it belongs to and assign the name "
                               "to a mesh";
  for (Value operand : op.getOperands())
    if (auto type = dyn_cast<MeshTensorType>(operand.getType()))
      diag.attachNote(operand.getLoc())
          << "this operand lives on mesh \"" << type.getMeshName() << "\"";
  return diag;
}

static LogicalResult verifyPlacedSignature(func::FuncOp func) {
  for (BlockArgument argument : func.getArguments())
    if (!isPlaced(argument.getType()))
      return emitError(argument.getLoc())
             << "argument " << argument.getArgNumber() << " of @"
             << func.getSymName() << " has no mesh after import";
  for (auto [index, type] : llvm::enumerate(func.getResultTypes()))
    if (!isPlaced(type))
      return emitError(getResultInfoLoc(func, index, func.getLoc()))
             << "result " << index << " of @" << func.getSymName()
             << " has no mesh after import";
  return success();
}

namespace {
struct VerifyPlacementPass
    : mpmd::impl::VerifyPlacementPassBase<VerifyPlacementPass> {
  void runOnFunction(func::FuncOp func) override {
    markAllAnalysesPreserved();
    bool isValid = succeeded(verifyPlacedSignature(func));
    for (Operation &op : func.front())
      isValid &= succeeded(verifyOp(op));
    if (!isValid)
      signalPassFailure();
  }
};
} // namespace
