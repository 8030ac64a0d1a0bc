//===- MergeRemarks.h - What was merged, and what was not -------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// Remarks of the categories "merge" and "absorb". They cost nothing unless the
// user asked for remarks.
//
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_FRAGMENTS_MERGE_MERGEREMARKS_H
#define MESHWRIGHT_FRAGMENTS_MERGE_MERGEREMARKS_H

#include "meshwright/Dialect/Mpmd/MpmdDialect.h"

namespace mlir::mpmd {

/// As in `fragment ["enc", "enc"(1)]` or `an inferred fragment`.
std::string describe(FragmentOp fragment);

/// Says that two fragments became one. To be called before they do.
void remarkMerged(StringRef category, FragmentOp fragment, FragmentOp partner);

/// Says that a fragment stays what it is, and why.
void remarkNotMerged(StringRef category, FragmentOp fragment, StringRef why);

} // namespace mlir::mpmd

#endif
