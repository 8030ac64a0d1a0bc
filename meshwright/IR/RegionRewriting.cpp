//===- RegionRewriting.cpp ------------------------------------------------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

#include "meshwright/IR/RegionRewriting.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SmallVector.h"

using namespace mlir;

bool meshwright::holdsSeveralBlocks(Region &region) {
  auto hasSeveral = [](Region &region) {
    return !region.empty() && !region.hasOneBlock();
  };
  return hasSeveral(region) ||
         region
             .walk([&](Operation *op) {
               return WalkResult(
                   failure(llvm::any_of(op->getRegions(), hasSeveral)));
             })
             .wasInterrupted();
}

LogicalResult meshwright::applyPatternsWhere(
    Region &region, const FrozenRewritePatternSet &patterns,
    GreedyRewriteConfig config, function_ref<bool(Operation *)> mayMatch) {
  config.setUseTopDownTraversal(false);
  config.setRegionSimplificationLevel(GreedySimplifyRegionLevel::Disabled);
  config.enableFolding(false).enableConstantCSE(false);
  config.setScope(&region);
  bool changed = true;
  // Once more as long as ops change: a pattern may look at more than the ops around one.
  while (changed) {
    SmallVector<Operation *> ops;
    region.walk([&](Operation *op) {
      if (mayMatch(op) || isOpTriviallyDead(op))
        ops.push_back(op);
    });
    if (failed(applyOpPatternsGreedily(ops, patterns, config, &changed)))
      return failure();
  }
  return success();
}
