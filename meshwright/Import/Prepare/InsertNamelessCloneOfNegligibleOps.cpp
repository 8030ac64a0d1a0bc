//===- InsertNamelessCloneOfNegligibleOps.cpp -----------------------------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// A constant that a named computation returns would be bound to the mesh of
// that computation. What costs nothing to compute is better computed wherever
// it is used:
//
//   %r = mpmd.named_computation<"f">       %r = mpmd.named_computation<"f">
//     %c = stablehlo.constant                %c = stablehlo.constant
//     mpmd.return %c                         mpmd.return %c
//   use(%r)                                %c = stablehlo.constant
//   return %r                              use(%c)
//                                          return %r
//
// A result that the function returns keeps reading the computation: there the
// user said where it shall be.
//
//===----------------------------------------------------------------------===//

#include "meshwright/Dialect/Mpmd/Fragments.h"
#include "meshwright/Dialect/Mpmd/MpmdDialect.h"
#include "meshwright/IR/OutsideReads.h"
#include "mlir/IR/PatternMatch.h"

#define GEN_PASS_DEF_INSERTNAMELESSCLONEOFNEGLIGIBLEOPSPASS
#include "meshwright/Import/Prepare/Passes.h"

using namespace mlir;
using namespace mlir::mpmd;

/// Returns the op that makes `value`, if it can be repeated anywhere for free.
static Operation *getNegligibleProducer(Value value) {
  Operation *producer = value.getDefiningOp();
  if (!producer || !isNegligibleOp(producer))
    return nullptr;
  // Regions may read values that exist only in the computation.
  return getCaptures(producer).empty() ? producer : nullptr;
}

namespace {
struct InsertNamelessCloneOfNegligibleOpsPass
    : mpmd::impl::InsertNamelessCloneOfNegligibleOpsPassBase<
          InsertNamelessCloneOfNegligibleOpsPass> {
  void runOnFunction(func::FuncOp func) override {
    IRRewriter rewriter(&getContext());
    func.walk([&](NamedComputationOp computation) {
      rewriter.setInsertionPointAfter(computation);
      Operation *terminator = computation.getRegion().front().getTerminator();
      for (auto [result, returned] : llvm::zip_equal(
               computation.getResults(), terminator->getOperands())) {
        Operation *producer = getNegligibleProducer(returned);
        if (!producer)
          continue;
        // COMPAT(clone-per-result): Also where nothing will read it, and once
        // more for a second result that returns the same op.
        Operation *clone = rewriter.clone(*producer);
        rewriter.replaceUsesWithIf(
            result, clone->getResult(0), [](OpOperand &use) {
              return !isa<func::ReturnOp>(use.getOwner());
            });
        ++numClones;
      }
    });
  }
};
} // namespace
