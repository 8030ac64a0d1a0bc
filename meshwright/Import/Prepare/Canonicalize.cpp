//===- Canonicalize.cpp ---------------------------------------------------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// MLIR's own pass looks for what is unreachable or dead in all regions after each round,
// which takes half of its time and finds something only where there are several blocks.
//
//===----------------------------------------------------------------------===//

#include "meshwright/IR/RegionRewriting.h"
#include "mlir/IR/Dialect.h"
#include "mlir/IR/MLIRContext.h"
#include "mlir/IR/OperationSupport.h"

#define GEN_PASS_DEF_CANONICALIZEPASS
#include "meshwright/Import/Prepare/Passes.h"

using namespace mlir;
using namespace mlir::mpmd;

namespace {
struct ErasedOps : RewriterBase::Listener {
  void notifyOperationErased(Operation *) override { ++count; }
  unsigned count = 0;
};

struct CanonicalizePass : mpmd::impl::CanonicalizePassBase<CanonicalizePass> {
  LogicalResult initialize(MLIRContext *context) override {
    RewritePatternSet all(context);
    for (Dialect *dialect : context->getLoadedDialects())
      dialect->getCanonicalizationPatterns(all);
    for (RegisteredOperationName name : context->getRegisteredOperations())
      name.getCanonicalizationPatterns(all, context);
    patterns = std::move(all);
    return success();
  }

  void runOnOperation() override {
    GreedyRewriteConfig config;
    ErasedOps erased;
    config.setUseTopDownTraversal().setListener(&erased);
    if (llvm::none_of(getOperation()->getRegions(),
                      meshwright::holdsSeveralBlocks))
      config.setRegionSimplificationLevel(GreedySimplifyRegionLevel::Disabled);
    // Canonical as far as the rounds go: like MLIR's, this pass promises no more.
    (void)applyPatternsGreedily(getOperation(), patterns, config);
    numErased += erased.count;
  }

private:
  FrozenRewritePatternSet patterns;
};
} // namespace
