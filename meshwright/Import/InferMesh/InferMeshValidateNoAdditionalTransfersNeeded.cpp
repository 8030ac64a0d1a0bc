//===- InferMeshValidateNoAdditionalTransfersNeeded.cpp -------------------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// Reports values that are needed where they are unavailable. Uses flow backwards,
// so everything before such an op fails for the same reason; only the last op
// of the chain speaks:
//
//   %0 = stablehlo.sine %on_m1      needed on m2    follows from %1
//   %1 = stablehlo.negate %0        needed on m2    follows from the assign
//   %2 = mpmd.assign %1 : m2                        reported, and so is %1
//
// Ops and arguments that failed keep a mark, by which those before them know.
// What has effects is on one mesh, so it fails if it is needed on two.
//
//===----------------------------------------------------------------------===//

#include "meshwright/Dialect/Mpmd/Effects.h"
#include "meshwright/Import/InferMesh/InferMeshDiagnostics.h"

#define GEN_PASS_DEF_INFERMESHVALIDATENOADDITIONALTRANSFERSNEEDEDPASS
#include "meshwright/Import/InferMesh/Passes.h"

using namespace mlir;
using namespace mlir::mpmd;

/// Marks ops and arguments that failed.
static constexpr StringLiteral kVisitedFailureAttr = "mpmd.visited_failure";

namespace {
class TransferCheck {
public:
  TransferCheck(ModuleOp module, int limit)
      : flow(module), calls(module), diagnostics(flow, calls), failures(limit),
        errors(limit) {}

  void checkFunction(func::FuncOp func);
  bool hasFailed() const { return failures.getCount() > 0; }

private:
  void checkRegions(Operation *op);
  void checkOp(Operation *op);
  void checkChain(CallOp call);
  bool isMarked(OpOperand &use) const;
  bool hasMarkedUser(Value value) const {
    return llvm::any_of(value.getUses(),
                        [&](OpOperand &use) { return isMarked(use); });
  }

  MeshDataFlow flow;
  CallGraph calls;
  CalleeEffects effects;
  InferMeshDiagnostics diagnostics;
  /// What failed, and what of it was reported.
  ErrorLimit failures, errors;
};
} // namespace

/// Whether the user of a value failed, so that the value need not be reported.
/// A failing assign is a symptom of what feeds it, not its cause.
bool TransferCheck::isMarked(OpOperand &use) const {
  auto call = dyn_cast<CallOp>(use.getOwner());
  if (!call)
    return isMeshlessOp(use.getOwner()) &&
           use.getOwner()->hasAttr(kVisitedFailureAttr);
  func::FuncOp callee = flow.getCallee(call);
  return callee && use.getOperandNumber() < callee.getNumArguments() &&
         callee.getArgAttr(use.getOperandNumber(), kVisitedFailureAttr);
}

void TransferCheck::checkOp(Operation *op) {
  MeshSet uses = getMeshSet(op, kUseSetAttr);
  bool canBeHad = isSubset(uses, getMeshSet(op, kSrcSetAttr));
  Operation *effect = uses.getMeshes().size() > 1 && isMeshlessOp(op)
                          ? effects.findEffect(op)
                          : nullptr;
  if (canBeHad && !effect)
    return;
  op->setAttr(kVisitedFailureAttr, UnitAttr::get(op->getContext()));
  failures.count();
  if (llvm::any_of(op->getResults(),
                   [&](Value result) { return hasMarkedUser(result); }))
    return;
  if (canBeHad)
    diagnostics.reportRepeatedEffect(op, effect);
  else
    diagnostics.reportNeededTransfer(op);
  errors.count();
}

/// A result that goes from one call of a function to another one stays where it
/// is, so result and argument have to be needed on the same meshes.
void TransferCheck::checkChain(CallOp call) {
  func::FuncOp callee = flow.getCallee(call);
  if (!callee)
    return;
  for (OpResult result : call->getResults())
    for (OpOperand &use : result.getUses()) {
      auto next = dyn_cast<CallOp>(use.getOwner());
      if (failures.isReached() || !next || flow.getCallee(next) != callee ||
          use.getOperandNumber() >= callee.getNumArguments())
        continue;
      BlockArgument arg = callee.getArgument(use.getOperandNumber());
      if (haveSameMeshes(getResultUseSet(callee, result.getResultNumber()),
                         getArgMeshSet(arg, kUseSetAttr)))
        continue;
      diagnostics.reportChainMismatch(callee, result.getResultNumber(), arg);
      failures.count();
      errors.count();
    }
}

void TransferCheck::checkRegions(Operation *op) {
  for (Region &region : llvm::reverse(op->getRegions()))
    for (Block &block : llvm::reverse(region))
      for (Operation &child : llvm::reverse(block)) {
        if (failures.isReached())
          return;
        if (isa<FragmentOp>(child))
          continue;
        if (isMeshlessOp(&child) || isa<AssignOp>(child))
          checkOp(&child);
        else if (auto call = dyn_cast<CallOp>(child))
          checkChain(call);
        checkRegions(&child);
      }
}

void TransferCheck::checkFunction(func::FuncOp func) {
  checkRegions(func);
  for (BlockArgument arg : func.getArguments()) {
    if (errors.isReached())
      return;
    if (isSubset(getArgMeshSet(arg, kUseSetAttr),
                 getArgMeshSet(arg, kSrcSetAttr)))
      continue;
    func.setArgAttr(arg.getArgNumber(), kVisitedFailureAttr,
                    UnitAttr::get(func.getContext()));
    failures.count();
    if (hasMarkedUser(arg))
      continue;
    diagnostics.reportNeededTransfer(func, arg);
    errors.count();
  }
}

namespace {
struct InferMeshValidateNoAdditionalTransfersNeededPass
    : mpmd::impl::InferMeshValidateNoAdditionalTransfersNeededPassBase<
          InferMeshValidateNoAdditionalTransfersNeededPass> {
  using Base::Base;

  void runOnOperation() override {
    ModuleOp module = getOperation();
    if (failed(verifyErrorLimit(module, errorLimit)))
      return signalPassFailure();
    TransferCheck check(module, errorLimit);
    for (func::FuncOp func : getCallees(module))
      check.checkFunction(func);
    for (func::FuncOp func : getEntryPoints(module))
      check.checkFunction(func);
    if (check.hasFailed())
      signalPassFailure();
  }
};
} // namespace
