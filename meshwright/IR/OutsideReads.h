//===- OutsideReads.h - What an op reads ------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_IR_OUTSIDEREADS_H
#define MESHWRIGHT_IR_OUTSIDEREADS_H

#include "mlir/IR/Operation.h"
#include "llvm/ADT/SetVector.h"

namespace mlir::mpmd {

/// The values that the regions of an op read from around it, in the order of
/// their first use.
llvm::SetVector<Value> getCaptures(Operation *op);

/// The operands of an op, then what else it captures. Each is there once.
llvm::SetVector<Value> getOutsideReads(Operation *op);

} // namespace mlir::mpmd

#endif
