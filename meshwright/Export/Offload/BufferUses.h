//===- BufferUses.h - How long values keep their memory ---------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_EXPORT_OFFLOAD_BUFFERUSES_H
#define MESHWRIGHT_EXPORT_OFFLOAD_BUFFERUSES_H

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace mlir::mpmd {

/// Whether a value of `func` is there to the end: for the caller, or as a result.
bool isKept(Value value, func::FuncOp func);

/// Whether a fragment gives the buffer of an operand to others when it starts.
bool isGivenUp(OpOperand &use);

} // namespace mlir::mpmd

#endif
