//===- BlockOrder.h - The order of ops that patterns move -------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_IMPORT_PLACE_BLOCKORDER_H
#define MESHWRIGHT_IMPORT_PLACE_BLOCKORDER_H

#include "mlir/IR/PatternMatch.h"
#include "llvm/ADT/DenseMap.h"

namespace mlir::mpmd {

/// The order of ops in blocks that are being rewritten, for listeners of the
/// greedy driver. Each op has a number, with gaps for the ops to come; a block
/// is renumbered when a gap is used up. `Operation::isBeforeInBlock` does so
/// after each change.
class BlockOrder : public RewriterBase::Listener {
public:
  /// Whether `a` stands before `b` in their block.
  bool isBefore(Operation *a, Operation *b);

  void notifyOperationInserted(Operation *op,
                               OpBuilder::InsertPoint previous) override;
  void notifyOperationErased(Operation *op) override { numbers.erase(op); }

private:
  void number(Block *block);

  DenseMap<Operation *, uint64_t> numbers; // Never iterated.
};

} // namespace mlir::mpmd

#endif
