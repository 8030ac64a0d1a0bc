//===- MergeDriver.h - One sweep that merges fragments ----------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_FRAGMENTS_MERGE_MERGEDRIVER_H
#define MESHWRIGHT_FRAGMENTS_MERGE_MERGEDRIVER_H

#include "meshwright/Dialect/Mpmd/MpmdDialect.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace mlir::mpmd {

/// With whom the driver tries to merge a fragment.
enum class MergePartner {
  /// The first fragment in the block that reads a result.
  ClosestConsumer,
  /// The first fragment in the block that reads a result and may be merged.
  AnyConsumer,
  /// The next fragment of the mesh, whether or not it reads a result.
  NextOnMesh,
};

/// Merges the fragments of the first block of `func`, from the last to the
/// first, each with its partners for as long as `mayMerge` accepts them. Only
/// fragments of one mesh are offered to `mayMerge`.
///
/// A pair is merged where the partner is, unless something before it uses
/// the first fragment; then where the first fragment is, provided that all
/// operands of the partner are available there; else not at all. Nothing but
/// the partner moves, and no effect past another one of its mesh. Fragments
/// that are pure and unused are erased.
///
/// The merged fragment has MergedAttributes::ofBoth.
///
/// Returns how many pairs were merged. Fails, with an error, where fragments of
/// two stages would be.
FailureOr<unsigned>
mergeFragmentsIn(func::FuncOp func, MergePartner partner,
                 function_ref<bool(FragmentOp, FragmentOp)> mayMerge);

} // namespace mlir::mpmd

#endif
