//===- OptimizeDistinctBodies.cpp -----------------------------------------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// A pipelined program has hundreds of fragments and a handful of bodies. Each
// body is optimized where it is met first; where that changed it, the others of
// its kind are replaced by copies.
//
//   f(%x) { x + 0 }   f(%x) { x + 0 }        f(%x) { x }   f(%x) { x }
//
//===----------------------------------------------------------------------===//

#include "meshwright/Dialect/Mpmd/MpmdDialect.h"
#include "meshwright/Dialect/Sdy/Transforms/Frames.h"
#include "meshwright/Dialect/StableHLO/Transforms/OptimizationPatterns.h"
#include "meshwright/IR/EqualBodies.h"
#include "mlir/IR/IRMapping.h"

#define GEN_PASS_DEF_OPTIMIZEDISTINCTBODIESPASS
#include "meshwright/Sharding/Passes.h"

using namespace mlir;
using namespace mlir::mpmd;

/// Whether there are ops outside of fragments that can be optimized.
static bool hasOtherWork(func::FuncOp func) {
  return func
      .walk<WalkOrder::PreOrder>([](Operation *op) {
        if (isa<FragmentOp>(op))
          return WalkResult::skip();
        return isa_and_nonnull<MpmdDialect, func::FuncDialect>(op->getDialect())
                   ? WalkResult::advance()
                   : WalkResult::interrupt();
      })
      .wasInterrupted();
}

static bool isOtherThan(FragmentOp fragment, FragmentOp other) {
  return fragment != other &&
         !areEqualBodies(fragment.getRegion(), other.getRegion());
}

static void replaceBody(FragmentOp fragment, FragmentOp by) {
  Region &body = fragment.getRegion();
  body.dropAllReferences();
  body.getBlocks().clear();
  IRMapping mapping;
  by.getRegion().cloneInto(&body, mapping);
}

namespace {
struct OptimizeDistinctBodiesPass
    : mpmd::impl::OptimizeDistinctBodiesPassBase<OptimizeDistinctBodiesPass> {
  LogicalResult initialize(MLIRContext *context) override {
    RewritePatternSet all(context);
    stablehlo::populateTargetIndependentOptimization(all, {});
    patterns = std::move(all);
    return success();
  }

  void runOnOperation() override {
    func::FuncOp func = getOperation();
    if (hasOtherWork(func)) {
      bool changed = false;
      if (failed(stablehlo::optimizeRegion(func.getBody(), patterns, &changed)))
        signalPassFailure();
      ++numDistinct;
      numBodies += changed;
      return;
    }
    EqualityClasses<FragmentOp> classes;
    func.walk<WalkOrder::PreOrder>([&](FragmentOp fragment) {
      // The ops of a shared body are optimized in its function.
      if (sdy::isFrame(fragment))
        return WalkResult::skip();
      classes.add(fragment, hashBody(fragment.getRegion()),
                  [](FragmentOp first, FragmentOp other) {
                    return areEqualBodies(first.getRegion(), other.getRegion());
                  });
      return WalkResult::skip();
    });
    numDistinct += classes.get().size();
    for (ArrayRef<FragmentOp> equal : classes.get()) {
      FragmentOp first = equal.front();
      bool changed = false;
      if (failed(
              stablehlo::optimizeRegion(first.getRegion(), patterns, &changed)))
        return signalPassFailure();
      numBodies += changed;
      // Constants that have moved to the front are no change by themselves.
      if (changed || isOtherThan(first, equal.back()))
        for (FragmentOp other : equal.drop_front())
          replaceBody(other, first);
    }
  }

private:
  FrozenRewritePatternSet patterns;
};
} // namespace
