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

/// A demand that is not in the IR: each op of `before` precedes each op of
/// `after`. All of them are in one block and are not its terminator.
struct OrderGroup {
  SmallVector<Operation *, 2> before;
  SmallVector<Operation *, 2> after;
};

/// Sorts so that the demands hold as well, as if each were a use. Returns false
/// and leaves the block as it is if they contradict each other or the uses.
/// Linear in the ops and the groups but for one sort, not in the pairs.
bool sortBlockTopologically(Block &block, ArrayRef<OrderGroup> groups);

} // namespace mlir::mpmd

#endif
