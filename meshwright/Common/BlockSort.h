//===- BlockSort.h - Stable topological order of a block --------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_COMMON_BLOCKSORT_H
#define MESHWRIGHT_COMMON_BLOCKSORT_H

#include "mlir/IR/Block.h"

namespace mlir::mpmd {

/// Sorts the ops of `block`, without its terminator, so that producers precede
/// users, and returns whether that was possible.
///
/// Gives the order of upstream's `sortTopologically`: sweep over the ops again
/// and again, and take those whose producers are taken already. So an op that
/// waits for a later one ends up behind everything that was ready before, and
/// a sorted block does not change. Upstream's time is quadratic where users
/// stand far ahead of their producers; this is linear but for one sort. Where
/// there is a cycle, upstream's own way of breaking it is used.
bool sortBlockTopologically(Block &block);

} // namespace mlir::mpmd

#endif
