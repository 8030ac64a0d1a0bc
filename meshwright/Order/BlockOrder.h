//===- BlockOrder.h - The order of a block while it changes -----*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_ORDER_BLOCKORDER_H
#define MESHWRIGHT_ORDER_BLOCKORDER_H

#include "mlir/IR/PatternMatch.h"
#include "llvm/ADT/DenseMap.h"

namespace mlir::mpmd {

/// Says which of two ops of a block comes first while ops come, go and move.
/// After each change, `Operation::isBeforeInBlock` numbers the whole block
/// again; this finds a number between those of the neighbours.
///
/// Listens to the rewriter that changes the block, and must be notified of all
/// changes except those of constants: the greedy driver moves constants to the
/// front, so do not ask about them.
class BlockOrder : public RewriterBase::Listener {
public:
  using Position = int64_t;

  /// A number that is larger for later ops, above 0 for all that were there
  /// when it was first asked for, and good until an op is put into the block.
  Position getPosition(Operation *op);

  /// Whether `a` is before `b` in their block.
  bool isBefore(Operation *a, Operation *b);

  /// The op of the block of `op` that is, or contains, its first user; null if
  /// none does.
  Operation *getFirstUser(Operation *op);

  void notifyOperationInserted(Operation *op,
                               OpBuilder::InsertPoint previous) override;
  void notifyOperationErased(Operation *op) override { numbers.erase(op); }

private:
  void number(Block *block);

  DenseMap<Operation *, Position> numbers; // Never iterated.
};

} // namespace mlir::mpmd

#endif
