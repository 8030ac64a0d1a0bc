//===- PairFuser.h - Makes one fragment of each pair ------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_EXPORT_PAIRS_PAIRFUSER_H
#define MESHWRIGHT_EXPORT_PAIRS_PAIRFUSER_H

#include "meshwright/Export/Pairs/MarkedPairs.h"
#include "meshwright/Fragments/Merge/MergeFragments.h"
#include "meshwright/Order/EffectOrder.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/PatternMatch.h"
#include "llvm/ADT/DenseMap.h"

namespace mlir::mpmd {

/// Makes one fragment of each of the pairs of a function.
class PairFuser {
public:
  PairFuser(EffectOrder &effects, MLIRContext &context)
      : effects(effects), rewriter(&context) {}

  void fuse(const MarkedPair &pair);
  ArrayRef<FragmentOp> getFused() const { return allFused; }
  /// Sorts the block, once all are fused. `queues` are the fragments of each mesh before
  /// that, in the order in which they run; those of a pair are side by side.
  LogicalResult finish(func::FuncOp func,
                       MutableArrayRef<SmallVector<Operation *>> queues);

private:
  EffectOrder &effects;
  IRRewriter rewriter;
  FragmentMerger merger;
  SmallVector<FragmentOp> allFused;
  DenseMap<Operation *, Operation *> fusedOf;
};

} // namespace mlir::mpmd

#endif
