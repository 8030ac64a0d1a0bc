//===- BlockOrder.h - The order of a block while ops move -------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_ORDER_BLOCKORDER_H
#define MESHWRIGHT_ORDER_BLOCKORDER_H

#include "mlir/IR/Block.h"
#include "mlir/IR/Operation.h"
#include "llvm/ADT/DenseMap.h"

namespace mlir::mpmd {

/// Tells which of the ops of a block comes first, in constant time also where
/// thousands of them move in front of one. Ops must move through this object.
class BlockOrder {
public:
  explicit BlockOrder(Block &block);

  /// The first op of the block that reads a result of `op`, itself or in its
  /// regions; null if none does.
  Operation *getFirstUser(Operation *op) const;

  bool isBefore(Operation *op, Operation *other) const {
    return positions.lookup(op) < positions.lookup(other);
  }

  void moveBefore(Operation *op, Operation *next);

private:
  void number();

  Block &block;
  /// Increasing, with gaps for ops that move.
  llvm::DenseMap<Operation *, uint64_t> positions;
};

} // namespace mlir::mpmd

#endif
