//===- SplitManual.h - Halves of manual computations ------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_FRAGMENTS_SPLIT_SPLITMANUAL_H
#define MESHWRIGHT_FRAGMENTS_SPLIT_SPLITMANUAL_H

#include "mlir/IR/PatternMatch.h"
#include "llvm/ADT/BitVector.h"

namespace mlir::mpmd {

/// Splits the manual computations of a block whose terminator returns early and late
/// values: what only late ones need, if products are among it, becomes a manual
/// computation of its own. Pieces that cross the cut are put together along their
/// first dimension. Leaves alone what has effects, and where something else than a
/// tensor of known shape would cross. Returns how many were split.
unsigned splitManualComputations(Block &body, const llvm::BitVector &late,
                                 RewriterBase &rewriter);

} // namespace mlir::mpmd

#endif
