//===- LegalizeToStablehlo.cpp --------------------------------------------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// CHLO is what a front end writes: operations that broadcast, and functions
// that no hardware has. StableHLO has only plain operations:
//
//   chlo.broadcast_add %x, %y     becomes   stablehlo.broadcast_in_dim, .add
//   chlo.erf %x                   becomes   a rational approximation
//
// The patterns are in BroadcastPatterns.cpp, MathPatterns.cpp (with the
// formulas in *Functions.cpp) and StructuralPatterns.cpp.
//
//===----------------------------------------------------------------------===//

#include "meshwright/Dialect/CHLO/Transforms/LegalizePatterns.h"
#include "mlir/Transforms/WalkPatternRewriteDriver.h"

#define GEN_PASS_DEF_LEGALIZETOSTABLEHLOPASS
#include "meshwright/Dialect/CHLO/Transforms/Passes.h"

using namespace mlir;

namespace {
struct ReplacedOps : RewriterBase::Listener {
  void notifyOperationReplaced(Operation *op, ValueRange) override {
    count += isa_and_present<chlo::ChloDialect>(op->getDialect());
  }
  unsigned count = 0;
};

struct LegalizeToStablehloPass
    : chlo::impl::LegalizeToStablehloPassBase<LegalizeToStablehloPass> {
  LogicalResult initialize(MLIRContext *context) override {
    // Broadcasts give other CHLO ops in turn, so they come first.
    RewritePatternSet broadcasts(context), others(context);
    chlo::populateBroadcastPatterns(broadcasts);
    chlo::populateMathPatterns(others);
    chlo::populateStructuralPatterns(others);
    phases[0] = std::move(broadcasts);
    phases[1] = std::move(others);
    return success();
  }

  void runOnOperation() override {
    ReplacedOps replaced;
    for (const FrozenRewritePatternSet &patterns : phases)
      walkAndApplyPatterns(getOperation(), patterns, &replaced);
    numReplaced += replaced.count;
  }

private:
  FrozenRewritePatternSet phases[2];
};
} // namespace
