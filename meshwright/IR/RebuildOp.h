//===- RebuildOp.h - An op with other operands and results ------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_IR_REBUILDOP_H
#define MESHWRIGHT_IR_REBUILDOP_H

#include "mlir/IR/PatternMatch.h"

namespace mlir::mpmd {

/// Creates, before `op`, an op of the same kind with the given operands and
/// result types. It has the attributes of `op`, inherent and discardable, none
/// of them adapted to the new operands and results, and its location. It takes
/// over the regions. The caller replaces and erases `op`.
Operation *rebuildOp(Operation *op, ValueRange operands, TypeRange resultTypes,
                     RewriterBase &rewriter);

} // namespace mlir::mpmd

#endif
