//===- Kernels.h - What a backend fuses -------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_COST_KERNELS_H
#define MESHWRIGHT_COST_KERNELS_H

#include "mlir/IR/Block.h"
#include "mlir/IR/Operation.h"
#include "llvm/ADT/DenseMap.h"

namespace meshwright {

/// Whether an op is a matrix product or a convolution.
bool isProduct(mlir::Operation *op);

/// The kernels of a block, by number. Ops that are none, such as constants that
/// are read in a kernel, belong to that of their reader.
class Kernels {
public:
  explicit Kernels(mlir::Block &block);

  unsigned getCount() const { return count; }
  unsigned get(mlir::Operation *op) const { return kernels.lookup(op); }
  /// Whether a result of an op has a place in memory: others read it.
  bool isStored(mlir::OpResult result) const;

private:
  llvm::DenseMap<mlir::Operation *, unsigned> kernels;
  unsigned count = 0;
};

} // namespace meshwright

#endif
