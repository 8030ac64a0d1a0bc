//===- LastUses.h - Where a block reads its values last ---------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_FRAGMENTS_LASTUSES_H
#define MESHWRIGHT_FRAGMENTS_LASTUSES_H

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/Block.h"
#include "mlir/IR/Operation.h"
#include "llvm/ADT/DenseMap.h"

namespace mlir::mpmd {

/// The last operand of each value that ops of a block, the terminator among
/// them, read directly: ops in order, operands of one op from left to right.
/// Upstream's `Liveness` has no operands, and looks at all uses of a value each
/// time that it is asked.
class LastUses {
public:
  explicit LastUses(Block &block);
  /// As an analysis, of the function's only block.
  explicit LastUses(func::FuncOp func) : LastUses(func.front()) {}

  /// Null if no op of the block reads the value.
  OpOperand *get(Value value) const;

  /// The values that end with an op: what it reads last, then those of its
  /// results that nothing reads. Each is there once.
  SmallVector<Value> getEnding(Operation *op) const;

private:
  Block *block;
  /// Of values with several uses: most have one.
  llvm::DenseMap<Value, OpOperand *> lastUses;
};

} // namespace mlir::mpmd

#endif
