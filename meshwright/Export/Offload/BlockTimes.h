//===- BlockTimes.h - When the ops of a block run ---------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_EXPORT_OFFLOAD_BLOCKTIMES_H
#define MESHWRIGHT_EXPORT_OFFLOAD_BLOCKTIMES_H

#include "meshwright/Cost/Collective.h"
#include "meshwright/Export/Pairs/OverlapTimes.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/ADT/MapVector.h"

namespace mlir::mpmd {

/// When the fragments and transfers of a program run by the cost model, if each starts
/// as soon as it can: a mesh runs its fragments in order, and each transfer has links of
/// its own. A delayed one waits for the fragments before it.
class BlockTimes {
public:
  struct Span {
    double start, stop; ///< In seconds.
  };

  /// `earliest` has fragments that start no earlier than that.
  static FailureOr<BlockTimes>
  find(func::FuncOp func, OverlapTimes &times, const meshwright::Device &device,
       const DenseMap<Operation *, double> &earliest =
           DenseMap<Operation *, double>());

  Span get(Operation *op) const { return spans.lookup(op); }
  /// When each op starts at the latest, if the fragments that are fixed start when they
  /// do, and the program ends when it does.
  DenseMap<Operation *, double>
  findLatestStarts(Block &block, function_ref<bool(FragmentOp)> isFixed) const;
  /// The fragments of each mesh, in order.
  const llvm::MapVector<StringAttr, std::vector<FragmentOp>> &
  getQueues() const {
    return queues;
  }

private:
  /// The fragment of the target that a delayed transfer waits for; null if none.
  static FragmentOp findAwaited(
      TransferOp transfer,
      const llvm::MapVector<StringAttr, std::vector<FragmentOp>> &before);

  double end = 0;
  DenseMap<Operation *, Span> spans;
  llvm::MapVector<StringAttr, std::vector<FragmentOp>> queues;
};

} // namespace mlir::mpmd

#endif
