//===- ValidateNamedOpsInMpmdFunc.cpp -------------------------------------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// Named computations and named tensors mean something only where a topology is:
// directly in an MPMD function, or nested in another op of the mpmd dialect.
// Any other place is reported.
//
// Reporting does not fail the pass. A function that is not MPMD may well be a
// leftover whose inlined copies are fine; the user sees all such places at
// once, and the pipeline goes on.
//
//===----------------------------------------------------------------------===//

#include "meshwright/Dialect/Mpmd/Functions.h"
#include "meshwright/Dialect/Mpmd/MpmdDialect.h"
#include "meshwright/Text/DiagnosticId.h"
#include "mlir/IR/Diagnostics.h"

#define GEN_PASS_DEF_VALIDATENAMEDOPSINMPMDFUNCPASS
#include "meshwright/Import/Place/Passes.h"

using namespace mlir;
using namespace mlir::mpmd;

static bool mayContainNamedOps(Operation *parent) {
  if (auto func = dyn_cast<func::FuncOp>(parent))
    return isMpmdFunction(func);
  return isa_and_nonnull<MpmdDialect>(parent->getDialect());
}

/// Reports at the location alone: the op is part of a function that is about to
/// be dropped or inlined and says nothing that its location does not.
static void reportMisplaced(Operation *op, StringRef kind, StringRef name) {
  StringRef parent = op->getParentOp()->getName().getStringRef();
  meshwright::identify(
      emitError(op->getLoc())
          << kind
          << " can only be nested in mpmd functions or mpmd ops, not in '"
          << parent
          << "'; give the function a topology or call it from one that has it: "
             "\""
          << name << '"',
      "nested", {{"name", name.str()}, {"operation", parent.str()}});
}

namespace {
struct ValidateNamedOpsInMpmdFuncPass
    : mpmd::impl::ValidateNamedOpsInMpmdFuncPassBase<
          ValidateNamedOpsInMpmdFuncPass> {
  // COMPAT(error-without-failure): The pass succeeds all the same.
  void runOnOperation() override {
    getOperation().walk([](Operation *op) {
      if (mayContainNamedOps(op->getParentOp()))
        return;
      if (auto computation = dyn_cast<NamedComputationOp>(op))
        reportMisplaced(op, "Named computations", computation.getName());
      else if (auto tensor = dyn_cast<NamedTensorOp>(op))
        reportMisplaced(op, "Named tensors", tensor.getName());
    });
    markAllAnalysesPreserved();
  }
};
} // namespace
