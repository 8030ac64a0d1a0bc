//===- FreeTimes.h - Kernels that no collective waits for -------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
//   %1 = dot %x, %y ; %2 = all_to_all %1 ; %3 = dot %2, %z ; %4 = dot %x, %u
//   // the exchange waits for %1, but not for %3 and %4, which are free
//
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_COST_FREETIMES_H
#define MESHWRIGHT_COST_FREETIMES_H

#include "meshwright/Cost/Kernels.h"
#include "llvm/ADT/BitVector.h"
#include <vector>

namespace meshwright {

/// What the estimate of a block knows.
struct BlockTimes {
  std::vector<double> seconds; ///< Of each kernel.
  /// Ops that have collectives, themselves or in their bodies.
  llvm::DenseSet<mlir::Operation *> exchanging;
  /// By op with a body: free seconds if no collective waits for its results.
  llvm::DenseMap<mlir::Operation *, double> nested;
};

/// Adds up the kernels of a program that no collective waits for.
class FreeTimes {
public:
  void add(mlir::Block &block, Kernels kernels, BlockTimes times) {
    blocks.insert_or_assign(
        &block, std::make_pair(std::move(kernels), std::move(times)));
  }

  /// Of a block that was added and the computations in it, each visited once.
  /// Collectives elsewhere wait for what it returns of `awaited`, by number.
  double count(mlir::Block &block, const llvm::BitVector &awaited) const;

private:
  llvm::DenseMap<mlir::Block *, std::pair<Kernels, BlockTimes>> blocks;
};

} // namespace meshwright

#endif
