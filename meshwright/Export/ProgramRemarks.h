//===- ProgramRemarks.h - Why microbatches are several programs -*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_EXPORT_PROGRAMREMARKS_H
#define MESHWRIGHT_EXPORT_PROGRAMREMARKS_H

#include "meshwright/Dialect/Mpmd/MpmdDialect.h"

namespace mlir::mpmd {

/// Remarks of the category "programs": for units that differ in their microbatch
/// and are not all in one of `groups`, in what a group differs from the largest;
/// and for what runs once for all of them, why it is separate.
/// They cost nothing unless the user asked for remarks.
void remarkOnPrograms(ModuleOp module,
                      ArrayRef<SmallVector<FragmentOp>> groups);

} // namespace mlir::mpmd

#endif
