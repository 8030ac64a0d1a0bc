//===- SplitFragment.h - An early and a late half of a fragment -*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_FRAGMENTS_SPLIT_SPLITFRAGMENT_H
#define MESHWRIGHT_FRAGMENTS_SPLIT_SPLITFRAGMENT_H

#include "meshwright/Dialect/Mpmd/MpmdDialect.h"
#include "mlir/IR/PatternMatch.h"
#include "llvm/ADT/BitVector.h"
#include "llvm/ADT/DenseSet.h"
#include "llvm/ADT/SetVector.h"

namespace mlir::mpmd {

/// Where to cut a fragment. The early half computes the results that are not
/// late, and values that the late half needs from it.
struct FragmentCut {
  /// One bit per result of the fragment.
  BitVector lateResults;
  /// Ops directly in the body. With an op, all ops that it depends on are
  /// early, and so are the ops that return results that are not late.
  DenseSet<Operation *> earlyOps;
};

/// Whether `fragment` carries the mark of an early or of a late half.
bool isSplitFragment(FragmentOp fragment);

/// The results that no transfer reads.
BitVector findUntransferredResults(FragmentOp fragment);

/// Whether other meshes wait for some results of `fragment`, and not for others.
/// A stage without weights to train has no such backward work: all that it computes
/// is sent on, or nothing is where no stage before it trains.
bool hasTwoHalves(FragmentOp fragment);

/// Replaces `fragment` by its two halves as `cut` says, and returns true.
/// A late half may compute nothing: the early one then has its results in the
/// order that it has for other microbatches, and both can share a body. Returns
/// false, having changed nothing, if the whole body is early and as long as the
/// block around the fragment, or if a value that would have to cross the cut is
/// neither a ranked tensor nor a token. Nothing is cleaned up: operands and
/// arguments that a half does not need stay.
bool splitFragment(FragmentOp fragment, const FragmentCut &cut,
                   RewriterBase &rewriter);

/// Reports an error and returns failure if `fragment` already has shardings:
/// those of the values that cross a cut would be unknown.
LogicalResult verifyNotYetSharded(FragmentOp fragment);

} // namespace mlir::mpmd

#endif
