//===- MergedAttributes.h - What a merged fragment says it is ---*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_FRAGMENTS_MERGE_MERGEDATTRIBUTES_H
#define MESHWRIGHT_FRAGMENTS_MERGE_MERGEDATTRIBUTES_H

#include "meshwright/Dialect/Mpmd/MpmdDialect.h"

namespace mlir::mpmd {

/// What becomes of the attributes of fragments that merge, whichever pass does it.
/// Each way has all origins in the order in which members run, and the stage
/// that they agree on; they differ in what else is kept. The index of control
/// operands never is.
struct MergedAttributes {
  ArrayAttr origin;
  IntegerAttr stage;
  DictionaryAttr others; ///< Discardable.
  /// DEPARTURE(moved-entries): Whether operands and results keep their entries
  /// of `arg_attrs` and `res_attrs`, which are not in `others`.
  bool keepsEntries = false;

  /// Nothing else: the caller puts back what should be kept.
  static MergedAttributes ofNone(ArrayRef<FragmentOp> members);
  /// Of two that are alike: the common call counter, or the only one, or that
  /// of the only user fragment; of two inferred ones, the passes that inferred them.
  static MergedAttributes ofBoth(FragmentOp first, FragmentOp second);
  /// Of one that absorbs others: all that it has; if it is inferred, then also
  /// the passes that inferred those, in the order of `absorbed`. Each keeps its entries.
  static MergedAttributes ofRoot(ArrayRef<FragmentOp> members, FragmentOp root,
                                 ArrayRef<FragmentOp> absorbed);
  /// What the fragment has that represents them all.
  static MergedAttributes of(FragmentOp fragment);

  /// Makes `fragment` represent them all.
  void setOn(FragmentOp fragment) const;

  bool operator==(const MergedAttributes &other) const {
    return origin == other.origin && stage == other.stage &&
           others == other.others;
  }
};

} // namespace mlir::mpmd

#endif
