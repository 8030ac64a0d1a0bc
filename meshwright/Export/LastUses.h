//===- LastUses.h - Where a block reads its values last ---------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_EXPORT_LASTUSES_H
#define MESHWRIGHT_EXPORT_LASTUSES_H

#include "mlir/IR/Block.h"
#include "mlir/IR/Operation.h"
#include "llvm/ADT/DenseMap.h"

namespace mlir::mpmd {

/// The last operand of each value that ops of a block, the terminator among
/// them, read directly: ops in order, operands of one op from left to right.
llvm::DenseMap<Value, OpOperand *> findLastUses(Block &block);

} // namespace mlir::mpmd

#endif
