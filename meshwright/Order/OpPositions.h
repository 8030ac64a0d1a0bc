//===- OpPositions.h - Block order that survives moves ----------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_ORDER_OPPOSITIONS_H
#define MESHWRIGHT_ORDER_OPPOSITIONS_H

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/ADT/DenseMap.h"

namespace mlir::mpmd {

/// Says which of two ops of a block comes first while ops move. After each
/// move, `Operation::isBeforeInBlock` numbers the whole block again; this finds
/// a number between those of the neighbours.
///
/// Knows the ops that stand directly in a function. Who moves or replaces one
/// has to tell, but for constants: the greedy driver moves them to the front.
class OpPositions {
public:
  explicit OpPositions(func::FuncOp func);

  bool isBefore(Operation *op, Operation *other) const {
    return positions.at(op) < positions.at(other);
  }

  /// To be called once `op`, which is no terminator, stands where it was moved.
  void update(Operation *op);

  /// Lets `op` stand for `replaced`, which may be gone.
  void replace(Operation *replaced, Operation *op) {
    positions[op] = positions.at(replaced);
  }

private:
  void number(Block &block);

  DenseMap<Operation *, int64_t> positions;
  /// Before all others.
  int64_t first = 0;
};

} // namespace mlir::mpmd

#endif
