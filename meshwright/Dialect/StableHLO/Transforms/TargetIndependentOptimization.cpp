//===- TargetIndependentOptimization.cpp ----------------------------------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// What front ends and other passes leave behind, gone in one greedy rewriting:
//
//   %0 = add %zero, %x                    %x
//   %1 = reshape(reshape %x)              %1 = reshape %x
//   %2 = dynamic_slice %x, %c3            %2 = slice %x [3:5]
//   %3 = slice(concatenate %a, %b) [0:4]  %a
//   %4 = multiply %c2, %c3                %4 = constant 6
//
// The patterns are local; each group has a file of its own. The driver does the
// rest: it visits producers before their users, folds, removes dead ops, and
// moves each constant, once, to the start of the isolated region that uses it.
//
//===----------------------------------------------------------------------===//

#include "meshwright/Dialect/StableHLO/Transforms/ConstantFolding.h"
#include "meshwright/Dialect/StableHLO/Transforms/OptimizationPatterns.h"
#include "meshwright/IR/RegionRewriting.h"
#include "mlir/IR/RegionKindInterface.h"
#include "mlir/IR/Verifier.h"
#include "mlir/Transforms/GreedyPatternRewriteDriver.h"

#define GEN_PASS_DEF_TARGETINDEPENDENTOPTIMIZATIONPASS
#include "meshwright/Dialect/StableHLO/Transforms/Passes.h"

using namespace mlir;
using namespace mlir::stablehlo;

void stablehlo::populateTargetIndependentOptimization(
    RewritePatternSet &patterns, const OptimizationOptions &options) {
  populateArithmeticIdentities(patterns, options);
  populateConstantsToTheRight(patterns);
  populateShapeIdentities(patterns);
  populateConcatenateAndSlice(patterns);
  populateDynamicToStatic(patterns);
  populateConstantFolding(patterns, options);
  populateConstantMovement(patterns, options);
  populateControlFlow(patterns, options);
  populateCustomCalls(patterns);
  populateEmptyTensors(patterns);
  populateUnusedResults(patterns);
}

/// Whether values may depend on themselves in a region, or in one within it.
/// Patterns expect an end of what they follow: they rewrite a cycle forever.
static bool holdsGraphRegion(Region &region) {
  return !mayHaveSSADominance(region) ||
         region
             .walk([](Operation *op) {
               return WalkResult(success(
                   llvm::all_of(op->getRegions(), mayHaveSSADominance)));
             })
             .wasInterrupted();
}

/// Reports ops whose sizes have become constants that their types contradict:
/// the program has no meaning, which was not visible before.
static LogicalResult verifySizes(Region &region) {
  return failure(
      region
          .walk([](Operation *op) {
            bool readsSizes =
                isa<DynamicBroadcastInDimOp, DynamicConvOp, DynamicGatherOp,
                    DynamicIotaOp, DynamicPadOp, DynamicReshapeOp, RngOp,
                    SetDimensionSizeOp>(op);
            return WalkResult(failure(
                readsSizes && failed(verify(op, /*verifyRecursively=*/false))));
          })
          .wasInterrupted());
}

LogicalResult stablehlo::optimizeRegion(Region &region,
                                        const FrozenRewritePatternSet &patterns,
                                        bool *changed) {
  if (holdsGraphRegion(region))
    return success();
  FoldingBudget budget;
  // Operands first: what a producer becomes decides what can merge with it.
  GreedyRewriteConfig config;
  config.setUseTopDownTraversal();
  if (!meshwright::holdsSeveralBlocks(region))
    config.setRegionSimplificationLevel(GreedySimplifyRegionLevel::Disabled);
  if (failed(applyPatternsGreedily(region, patterns, config, changed)))
    return failure();
  return verifySizes(region);
}

/// Larger constants would take gigabytes while they are evaluated.
static constexpr int64_t kMaxElementLimit = 1 << 24;

namespace {
struct TargetIndependentOptimizationPass
    : stablehlo::impl::TargetIndependentOptimizationPassBase<
          TargetIndependentOptimizationPass> {
  using Base::Base;

  LogicalResult initialize(MLIRContext *context) override {
    if (foldOpElementLimit > kMaxElementLimit)
      return emitError(UnknownLoc::get(context))
             << "fold-op-element-limit is " << foldOpElementLimit.getValue()
             << "; expected at most " << kMaxElementLimit
             << ", since constants are evaluated element by element";
    RewritePatternSet all(context);
    populateTargetIndependentOptimization(
        all,
        {assumeNoUndeclaredSideEffects, foldOpElementLimit, optimizeFloat});
    patterns = std::move(all);
    return success();
  }

  void runOnOperation() override {
    bool changed = false;
    if (failed(optimizeRegion(getOperation().getBody(), patterns, &changed)))
      signalPassFailure();
    numFunctions += changed;
  }

private:
  FrozenRewritePatternSet patterns;
};
} // namespace
