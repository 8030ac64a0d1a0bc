//===- ExpandCompositesWithEffects.cpp ------------------------------------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// What a composite does is in another function, which passes that run on
// functions in parallel must not read. So they take it for a computation. Where
// it is more than that, the function is called instead, and soon inlined:
//
//   %0 = stablehlo.composite "noise" %x {decomposition = @draw}
//   // becomes
//   %0 = func.call @draw(%x)
//
//===----------------------------------------------------------------------===//

#include "meshwright/Dialect/Mpmd/Effects.h"
#include "meshwright/Dialect/StableHLO/StablehloDialect.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/PatternMatch.h"

#define GEN_PASS_DEF_EXPANDCOMPOSITESWITHEFFECTSPASS
#include "meshwright/Import/Inline/Passes.h"

using namespace mlir;
using namespace mlir::mpmd;

namespace {
struct ExpandCompositesWithEffectsPass
    : mpmd::impl::ExpandCompositesWithEffectsPassBase<
          ExpandCompositesWithEffectsPass> {
  void runOnOperation() override {
    CalleeEffects effects;
    SymbolTableCollection symbols;
    // Listed first: a composite may be in the decomposition of another one.
    SmallVector<stablehlo::CompositeOp> composites;
    getOperation().walk([&](stablehlo::CompositeOp composite) {
      auto callee = symbols.lookupNearestSymbolFrom<func::FuncOp>(
          composite, composite.getDecompositionAttr());
      // Of a function without body nothing could be inlined.
      if (callee && !callee.isDeclaration() && effects.hasEffects(composite))
        composites.push_back(composite);
    });
    IRRewriter rewriter(&getContext());
    for (stablehlo::CompositeOp composite : composites) {
      rewriter.setInsertionPoint(composite);
      rewriter.replaceOpWithNewOp<func::CallOp>(
          composite, composite.getDecompositionAttr(),
          composite->getResultTypes(), composite->getOperands());
    }
    numComposites += composites.size();
    if (composites.empty())
      markAllAnalysesPreserved();
  }
};
} // namespace
