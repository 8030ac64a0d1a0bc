//===- MarkedPairs.h - The pairs that a scheduler has marked ----*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_EXPORT_PAIRS_MARKEDPAIRS_H
#define MESHWRIGHT_EXPORT_PAIRS_MARKEDPAIRS_H

#include "meshwright/Dialect/Mpmd/MpmdDialect.h"
#include <vector>

namespace mlir::mpmd {

/// The fragments of one number, the first part and then the second.
struct MarkedPair {
  int64_t number; ///< Of the marks; less than 0 if the scheduler made none.
  SmallVector<FragmentOp, 1> first;
  SmallVector<FragmentOp, 2> second;

  SmallVector<FragmentOp, 3> getMembers() const {
    SmallVector<FragmentOp, 3> members(first.begin(), first.end());
    llvm::append_range(members, second);
    return members;
  }

  /// Of a backward in two halves, the one that others wait for.
  MarkedPair withoutLateHalf() const {
    MarkedPair pair = *this;
    pair.second.truncate(1);
    return pair;
  }
};

/// The marked fragments of a block by their number, in the order of the block, and
/// without their marks. Reports an error at those that are no pair of one mesh.
FailureOr<std::vector<MarkedPair>> takePairs(Block &block);

} // namespace mlir::mpmd

#endif
