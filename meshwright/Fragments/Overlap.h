//===- Overlap.h - What attributes say about overlapped pairs ---*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// A schedule may want two actions of a mesh in one step: a forward, and a backward
// that may consist of two halves. The scheduler marks their fragments, and
// `mpmd-fuse-overlapped-pairs` makes one of them that remembers what it was made of:
//
//   fragment ["f"]    {mpmd.overlap = array<i64: 3, 0>}
//   fragment ["g"(1)] {mpmd.overlap = array<i64: 3, 1>}
//   // becomes
//   fragment ["f", "g"(1)] {mpmd.overlapped = [{origin = ["f"], results = 2},
//                                              {origin = ["g"(1)], results = 1}]}
//
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_FRAGMENTS_OVERLAP_H
#define MESHWRIGHT_FRAGMENTS_OVERLAP_H

#include "meshwright/Dialect/Mpmd/MpmdDialect.h"

namespace mlir::mpmd {

/// On a fragment that a schedule pairs, `array<i64>`: the number of the pair, and 0
/// for the part that comes first, 1 for the other.
inline constexpr StringLiteral kOverlapAttr = "mpmd.overlap";

/// On a fragment that was made of a pair, and on its call: a dictionary for each of
/// the two parts, of `origin`, as fragments have it, `stage_id` if the part had a
/// stage, and `results`, an `i64` that says how many results are of the part. Those of
/// the first come first.
inline constexpr StringLiteral kOverlappedAttr = "mpmd.overlapped";
inline constexpr StringLiteral kPartOriginKey = "origin";
inline constexpr StringLiteral kPartStageKey = "stage_id";
inline constexpr StringLiteral kPartResultsKey = "results";

/// A part of an overlapped pair.
struct OverlappedPart {
  ArrayAttr origin;
  IntegerAttr stage; ///< Null if it had none.
  unsigned numResults;
};

/// Makes the value of `kOverlappedAttr`.
ArrayAttr getOverlappedAttr(MLIRContext *context,
                            ArrayRef<OverlappedPart> parts);

/// The parts of a fragment or call; empty if it was made of no pair. Reports an
/// attribute that `mpmd-fuse-overlapped-pairs` did not write.
FailureOr<SmallVector<OverlappedPart>> getOverlappedParts(Operation *op);

} // namespace mlir::mpmd

#endif
