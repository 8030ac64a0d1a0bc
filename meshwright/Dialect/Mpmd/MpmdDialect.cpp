//===- MpmdDialect.cpp ----------------------------------------------------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

#include "meshwright/Dialect/Mpmd/MpmdDialect.h"
#include "meshwright/Dialect/Mpmd/Functions.h"
#include "mlir/Transforms/InliningUtils.h"

using namespace mlir;
using namespace mlir::mpmd;

#include "meshwright/Dialect/Mpmd/MpmdDialect.cpp.inc"

/// Whether `op` may come, with the body of its function, into `parent`: what
/// verification asks of the op's place, and of its meshes.
static bool mayStandIn(Operation *op, Operation *parent) {
  auto callee = op->getParentOfType<func::FuncOp>();
  if (!callee || !isa<CallOp, FragmentOp, FragmentCallOp, AssignOp, UnassignOp,
                      TransferOp>(op))
    return true;
  auto caller = dyn_cast<func::FuncOp>(parent);
  // What is deeper in the callee keeps its parent.
  if (!caller && (op->getParentOp() != callee ||
                  (isa<ForOp>(parent) && !isa<FragmentCallOp, TransferOp>(op))))
    caller = parent->getParentOfType<func::FuncOp>();
  if (!caller)
    return false;
  if (isa<CallOp>(op))
    return !isMpmdFunction(caller) || isEntryPointFunction(caller);
  return getTopology(caller) == getTopology(callee);
}

namespace {
/// The dialect's calls represent a mesh and a counter that a body alone would
/// lose; passes of their own inline them. Everything else may move to where it
/// verifies.
struct MpmdInliner : DialectInlinerInterface {
  using DialectInlinerInterface::DialectInlinerInterface;

  bool isLegalToInline(Operation *call, Operation *callable,
                       bool wouldBeCloned) const override {
    return false;
  }
  bool isLegalToInline(Operation *op, Region *dest, bool wouldBeCloned,
                       IRMapping &mapping) const override {
    return mayStandIn(op, dest->getParentOp());
  }
  bool isLegalToInline(Region *dest, Region *src, bool wouldBeCloned,
                       IRMapping &mapping) const override {
    return true;
  }

  /// The end of an inlined body: its values replace the results.
  void handleTerminator(Operation *op, ValueRange results) const override {
    if (auto returnOp = dyn_cast<mpmd::ReturnOp>(op))
      for (auto [result, value] : llvm::zip(results, returnOp.getOperands()))
        result.replaceAllUsesWith(value);
  }
};
} // namespace

void MpmdDialect::initialize() {
  registerAttributes();
  registerTypes();
  addOperations<
#define GET_OP_LIST
#include "meshwright/Dialect/Mpmd/MpmdOps.cpp.inc"
      >();
  addInterfaces<MpmdInliner>();
}

#define GET_OP_CLASSES
#include "meshwright/Dialect/Mpmd/MpmdOps.cpp.inc"
