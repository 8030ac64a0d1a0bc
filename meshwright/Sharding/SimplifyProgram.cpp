//===- SimplifyProgram.cpp ------------------------------------------------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// Once bodies are optimized, fragments return values twice, take operands that
// nothing reads, and pass values through that they do not change:
//
//   %0:3 = fragment (%a, %a, %b) (%x, %y, %z) {     %0 = fragment (%a) (%x) {
//     %m = multiply %x, %y                            %m = multiply %x, %x
//     return %m, %z, %m                               return %m
//   }                                               }
//   return %0#0, %0#1, %0#2                         return %0, %b, %0
//
// Patterns run to a fixed point, because a fragment that loses an operand may
// leave a result of another one unused.
//
//===----------------------------------------------------------------------===//

#include "meshwright/Dialect/Mpmd/MpmdDialect.h"
#include "meshwright/Fragments/SharedBodies.h"
#include "meshwright/Fragments/Simplify/SimplifyRegionOp.h"
#include "mlir/Transforms/GreedyPatternRewriteDriver.h"

#define GEN_PASS_DEF_SIMPLIFYPROGRAMPASS
#include "meshwright/Sharding/Passes.h"

using namespace mlir;
using namespace mlir::mpmd;

static LogicalResult simplifyFragment(FragmentOp op,
                                      PatternRewriter &rewriter) {
  inlineSharedBodiesIfUnused(op, rewriter);
  return simplifyRegionOp(op, SimplifiedAttrs::All, rewriter);
}

namespace {
/// Counts what the driver erases: what it simplifies it builds again.
struct ErasedOps : RewriterBase::Listener {
  void notifyOperationErased(Operation *op) override {
    if (isa<FragmentOp>(op))
      ++numFragments;
    else
      numOthers += !op->hasTrait<OpTrait::IsTerminator>();
  }
  unsigned numFragments = 0, numOthers = 0;
};

struct SimplifyProgramPass
    : mpmd::impl::SimplifyProgramPassBase<SimplifyProgramPass> {
  using Base::Base;

  LogicalResult initialize(MLIRContext *context) override {
    RewritePatternSet set(context);
    set.add(simplifyFragment);
    patterns = std::move(set);
    return success();
  }

  void runOnOperation() override {
    ErasedOps erased;
    GreedyRewriteConfig config;
    config.setListener(&erased);
    if (failed(simplify(config)))
      signalPassFailure();
    numFragments += erased.numFragments;
    numErased += erased.numOthers;
  }

private:
  LogicalResult simplify(GreedyRewriteConfig &config) {
    if (!skipBodies)
      return applyPatternsGreedily(getOperation(), patterns, config);
    SmallVector<Operation *> ops;
    getOperation()->walk<WalkOrder::PreOrder>([&](Operation *op) {
      if (isa<func::FuncOp>(op))
        return WalkResult::advance();
      ops.push_back(op);
      return isa<FragmentOp>(op) ? WalkResult::skip() : WalkResult::advance();
    });
    config.setStrictness(GreedyRewriteStrictness::ExistingAndNewOps);
    return applyOpPatternsGreedily(ops, patterns, config);
  }

  FrozenRewritePatternSet patterns;
};
} // namespace
