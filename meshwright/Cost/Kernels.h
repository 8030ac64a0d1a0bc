//===- Kernels.h - What a backend fuses -------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_COST_KERNELS_H
#define MESHWRIGHT_COST_KERNELS_H

#include "mlir/IR/Block.h"
#include "mlir/IR/Operation.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/DenseSet.h"

namespace meshwright {

struct Device;

/// Whether an op is a matrix product or a convolution.
bool isProduct(mlir::Operation *op);

/// Whether a value is a constant, of StableHLO or of Shardy.
bool isConstant(mlir::Value value);

/// The kernels of a block, by number. What is cheaper to compute than to read, as a
/// constant or a scalar in another shape, is computed in each kernel that reads it:
///
///   %1 = broadcast %scalar ; %2 = add %x, %1 ; ... ; %9 = multiply %8, %1
///   // two kernels, of which none reads or writes %1
///
/// A compiler of TPUs does not compute a transcendental result again for each of several
/// results of a kernel, but stores it:
///
///   %1 = dot %x, %w ; %2 = tanh %1 ; %3 = add %2, %1 ; %4 = multiply %2, %2
///   // one kernel that returns %1 and %2, and one that returns %3 and %4
class Kernels {
public:
  Kernels(mlir::Block &block, const Device &device);

  unsigned getCount() const { return count; }
  unsigned get(mlir::Operation *op) const { return kernels.lookup(op); }
  /// Whether a result of an op has a place in memory: others read it.
  bool isStored(mlir::OpResult result) const;
  /// Whether an op is computed only in the kernels that read it.
  bool isInReaders(mlir::Operation *op) const;
  /// What the kernel of an op reads for one of its operands; null if nothing.
  mlir::Value getRead(mlir::OpOperand &operand) const;

private:
  using Operations = llvm::DenseSet<mlir::Operation *>;

  /// `ends` are ops that end a kernel, beside others.
  void build(mlir::Block &block, const Operations &ends);
  Operations findSharedTranscendentals(mlir::Block &block) const;
  /// Whether readers compute an op themselves; its operand's is known.
  bool isRepeated(mlir::Operation *op) const;
  /// What is needed in place of a value that its readers compute; null if nothing.
  mlir::Value skipRepeated(mlir::Value value) const;
  bool isReadOutside(mlir::Value value, unsigned kernel) const;

  llvm::DenseMap<mlir::Operation *, unsigned> kernels;
  Operations repeated; ///< Computed by their readers.
  unsigned count = 0;
};

} // namespace meshwright

#endif
