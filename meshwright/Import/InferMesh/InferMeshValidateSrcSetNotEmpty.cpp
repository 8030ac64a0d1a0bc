//===- InferMeshValidateSrcSetNotEmpty.cpp --------------------------------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// Reports values that are available nowhere without transfers. An empty set makes the
// sets of all users empty, so only the op where meshes meet is reported:
//
//   %0 = stablehlo.power %on_m1, %on_m2     {}   reported
//   %1 = stablehlo.sine %0                  {}   follows from %0
//
//===----------------------------------------------------------------------===//

#include "meshwright/Import/InferMesh/InferMeshDiagnostics.h"
#include "meshwright/Import/MeshSets/CrossMeshReduction.h"

#define GEN_PASS_DEF_INFERMESHVALIDATESRCSETNOTEMPTYPASS
#include "meshwright/Import/InferMesh/Passes.h"

using namespace mlir;
using namespace mlir::mpmd;

/// Whether `op` is the first of a chain that is available nowhere, or of a chain
/// of reductions that were not converted.
static bool isCulprit(Operation *op, const MeshDataFlow &flow) {
  MeshSet sources = getMeshSet(op, kSrcSetAttr);
  if (!sources.isSpecified())
    return false;
  if (sources.isSpecifiedAndEmpty() &&
      llvm::none_of(op->getOperands(), [&](Value operand) {
        return flow.getSources(operand).isSpecifiedAndEmpty();
      }))
    return true;
  return getMarkedReduction(op) &&
         llvm::none_of(op->getOperands(), [](Value operand) {
           Operation *producer = operand.getDefiningOp();
           return producer && getMarkedReduction(producer);
         });
}

namespace {
struct InferMeshValidateSrcSetNotEmptyPass
    : mpmd::impl::InferMeshValidateSrcSetNotEmptyPassBase<
          InferMeshValidateSrcSetNotEmptyPass> {
  using Base::Base;

  void runOnOperation() override {
    ModuleOp module = getOperation();
    if (failed(verifyErrorLimit(module, errorLimit)))
      return signalPassFailure();
    MeshDataFlow flow(module);
    CallGraph calls(module);
    InferMeshDiagnostics diagnostics(flow, calls);
    ErrorLimit errors(errorLimit);
    for (func::FuncOp func : getMpmdFunctions(module)) {
      checkOps(func, flow, diagnostics, errors);
      checkArguments(func, flow, calls, diagnostics, errors);
    }
    if (errors.getCount() > 0)
      signalPassFailure();
    markAllAnalysesPreserved();
  }

  static void checkOps(func::FuncOp func, const MeshDataFlow &flow,
                       const InferMeshDiagnostics &diagnostics,
                       ErrorLimit &errors) {
    func.walk([&](Operation *op) {
      if (errors.isReached())
        return WalkResult::interrupt();
      if (!isMeshlessOp(op) || op->getParentOfType<FragmentOp>() ||
          !isCulprit(op, flow))
        return WalkResult::advance();
      diagnostics.reportConflict(op);
      errors.count();
      return WalkResult::advance();
    });
  }

  static void checkArguments(func::FuncOp func, const MeshDataFlow &flow,
                             const CallGraph &calls,
                             const InferMeshDiagnostics &diagnostics,
                             ErrorLimit &errors) {
    for (BlockArgument arg : func.getArguments()) {
      if (errors.isReached())
        return;
      if (!getArgMeshSet(arg, kSrcSetAttr).isSpecifiedAndEmpty())
        continue;
      unsigned index = arg.getArgNumber();
      bool isInherited = llvm::any_of(calls.getCalls(func), [&](CallOp call) {
        return index < call->getNumOperands() &&
               flow.getSources(call->getOperand(index)).isSpecifiedAndEmpty();
      });
      if (isInherited)
        continue;
      diagnostics.reportConflict(func, arg);
      errors.count();
    }
  }
};
} // namespace
