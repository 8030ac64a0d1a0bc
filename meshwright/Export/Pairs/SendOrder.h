//===- SendOrder.h - In which order pairs send ------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_EXPORT_PAIRS_SENDORDER_H
#define MESHWRIGHT_EXPORT_PAIRS_SENDORDER_H

#include "meshwright/Dialect/Mpmd/MpmdDialect.h"

namespace mlir::mpmd {

/// Sends what the first part of each pair has made ahead of what the second has: so the
/// next mesh has what is first there, too.
void sendInOrder(ArrayRef<FragmentOp> allFused);

} // namespace mlir::mpmd

#endif
