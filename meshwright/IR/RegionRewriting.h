//===- RegionRewriting.h - Greedy rewriting of parts of regions -*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_IR_REGIONREWRITING_H
#define MESHWRIGHT_IR_REGIONREWRITING_H

#include "mlir/Transforms/GreedyPatternRewriteDriver.h"

namespace meshwright {

/// Whether there are several blocks in a region, or in one within it, some of which may be
/// unreachable. Of one block the greedy rewriting itself removes all that is dead.
bool holdsSeveralBlocks(mlir::Region &region);

/// What `applyPatternsGreedily` does, bottom up and without folding, of patterns that match
/// only ops for which `mayMatch` holds. That visits all ops, which takes most of its time
/// where few of them match; this visits those, and what is dead, in as many rounds as it
/// takes. Of `config` the listener counts; the rest is set here.
mlir::LogicalResult
applyPatternsWhere(mlir::Region &region,
                   const mlir::FrozenRewritePatternSet &patterns,
                   mlir::GreedyRewriteConfig config,
                   llvm::function_ref<bool(mlir::Operation *)> mayMatch);

} // namespace meshwright

#endif
