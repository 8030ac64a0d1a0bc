//===- OutsideReads.h - What an op reads ------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_IR_OUTSIDEREADS_H
#define MESHWRIGHT_IR_OUTSIDEREADS_H

#include "mlir/IR/Operation.h"
#include "llvm/ADT/DenseSet.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/ADT/SmallVector.h"

namespace mlir::mpmd {

/// The values that the regions of an op read from around it, in the order of
/// their first use.
llvm::SetVector<Value> getCaptures(Operation *op);

/// The operands of an op, then what else it captures. Each is there once.
llvm::SetVector<Value> getOutsideReads(Operation *op);

/// Adds the ops that `values` depend on to those known so far, whose dependencies are
/// known, too. Ends at block arguments.
void addDependencies(SmallVector<Value> values,
                     llvm::DenseSet<Operation *> &known);

} // namespace mlir::mpmd

#endif
