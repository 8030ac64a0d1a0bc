//===- SimplifyNamedComputations.cpp --------------------------------------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// Whatever a named computation takes or returns will be bound to its mesh, so
// it should take and return no more than it needs:
//
//   %r:3 = f (%x, %y, %x) (%a, %b, %c) {     %r = f (%x) (%a) {
//     %o = optimization_barrier %b             %m = multiply %a, %a
//     %m = multiply %a, %c                     return %m
//     return %m, %o, %m                      }
//   }                                        use(%r, %y, %r)
//   use(%r#0, %r#1, %r#2)
//
// Barriers go first, and completely: one that is between an argument and
// the result would hide that the value only passes through. Then computations
// are simplified until nothing changes.
//
//===----------------------------------------------------------------------===//

#include "meshwright/Dialect/Mpmd/MpmdDialect.h"
#include "meshwright/Dialect/StableHLO/StablehloDialect.h"
#include "meshwright/Fragments/Simplify/SimplifyRegionOp.h"
#include "meshwright/IR/RegionRewriting.h"

#define GEN_PASS_DEF_SIMPLIFYNAMEDCOMPUTATIONSPASS
#include "meshwright/Import/Prepare/Passes.h"

using namespace mlir;
using namespace mlir::mpmd;

/// Returns whether the barrier merely keeps an argument from being returned.
static bool isBypassable(Value operand, Value result) {
  return isa<BlockArgument>(operand) && result.hasOneUse() &&
         isa<mpmd::ReturnOp>(*result.user_begin());
}

/// Takes the values out of a barrier that only pass through the computation.
static LogicalResult bypassBarrier(stablehlo::OptimizationBarrierOp barrier,
                                   PatternRewriter &rewriter) {
  if (!isa<NamedComputationOp>(barrier->getParentOp()))
    return failure();
  SmallVector<Value> kept, replacements;
  for (auto [operand, result] :
       llvm::zip_equal(barrier->getOperands(), barrier->getResults())) {
    bool bypass = isBypassable(operand, result);
    replacements.push_back(bypass ? operand : Value());
    if (!bypass)
      kept.push_back(operand);
  }
  if (kept.size() == replacements.size())
    return failure();

  auto smaller = stablehlo::OptimizationBarrierOp::create(
      rewriter, barrier.getLoc(), ValueRange(kept).getTypes(), kept);
  auto next = smaller->result_begin();
  for (Value &replacement : replacements)
    if (!replacement)
      replacement = *next++;
  rewriter.replaceOp(barrier, replacements);
  return success();
}

static bool hasBarrier(func::FuncOp func) {
  return func
      .walk([](stablehlo::OptimizationBarrierOp) {
        return WalkResult::interrupt();
      })
      .wasInterrupted();
}

namespace {
/// Counts what patterns erase, and mostly build again.
struct ErasedComputations : RewriterBase::Listener {
  void notifyOperationErased(Operation *op) override {
    numComputations += isa<NamedComputationOp>(op);
    numBarriers += isa<stablehlo::OptimizationBarrierOp>(op);
  }
  unsigned numComputations = 0, numBarriers = 0;
};

struct SimplifyNamedComputationsPass
    : mpmd::impl::SimplifyNamedComputationsPassBase<
          SimplifyNamedComputationsPass> {
  LogicalResult initialize(MLIRContext *context) override {
    RewritePatternSet bypass(context), simplify(context);
    bypass.add(bypassBarrier);
    simplify.add(+[](NamedComputationOp op, PatternRewriter &rewriter) {
      return simplifyRegionOp(op, SimplifiedAttrs::Inherent, rewriter);
    });
    bypassPatterns = std::move(bypass);
    simplifyPatterns = std::move(simplify);
    return success();
  }

  void runOnFunction(func::FuncOp func) override {
    ErasedComputations erased;
    GreedyRewriteConfig config;
    config.enableFolding(false).enableConstantCSE(false).setListener(&erased);
    config.setRegionSimplificationLevel(GreedySimplifyRegionLevel::Disabled);
    if (hasBarrier(func) &&
        failed(applyPatternsGreedily(func, bypassPatterns, config)))
      return signalPassFailure();
    if (meshwright::holdsSeveralBlocks(func.getBody()))
      config.setRegionSimplificationLevel(GreedySimplifyRegionLevel::Normal);
    if (failed(applyPatternsGreedily(func, simplifyPatterns, config)))
      return signalPassFailure();
    numComputations += erased.numComputations;
    numBarriers += erased.numBarriers;
  }

private:
  FrozenRewritePatternSet bypassPatterns, simplifyPatterns;
};
} // namespace
