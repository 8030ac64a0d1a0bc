//===- BlockValues.h - What a device keeps of a block -----------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_COST_TEMPORARIES_BLOCKVALUES_H
#define MESHWRIGHT_COST_TEMPORARIES_BLOCKVALUES_H

#include "meshwright/Cost/Kernels.h"
#include "meshwright/Cost/Temporaries/KeptValues.h"
#include "meshwright/Dialect/Sdy/SdyDialect.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace meshwright {

/// Ops that represent no work of a device: their results are other names of
/// what they read, or are computed beforehand.
bool isFree(mlir::Operation *op);

/// What a device keeps of the values of a block, and from which op to which.
class BlockValues {
public:
  BlockValues(mlir::Block &block, const Kernels &kernels,
              mlir::sdy::MeshAttr mesh, const Device &device);

  /// What the result of an op takes until others read it; what the body returns is no
  /// temporary.
  void add(mlir::OpResult result);
  /// What is there while an op runs.
  void addWithin(mlir::Operation *op, double bytes);
  /// What the body of an op takes while it runs.
  void addNested(mlir::Operation *op, double bytes);

  /// The most bytes at once, of a block that is not all of a fragment.
  double count() const;
  /// What a compiler says of the fragment whose body the block is: values may be where
  /// its results will be. That of TPUs has tables for what is copied to the chip, and
  /// counts twice what is lost between places.
  double countTemporaries(mlir::func::FuncOp fragment) const;

private:
  /// Lets a value be there until this one, which is a name of it, is read last.
  void extend(KeptValue &kept, mlir::Value name) const;
  /// One that takes over an argument is taken until that is read for the last time.
  std::vector<ResultPlace> findResults(mlir::func::FuncOp fragment) const;

  mlir::Block &block;
  const Kernels &kernels;
  mlir::sdy::MeshAttr mesh;
  const Device &device;
  llvm::DenseMap<mlir::Operation *, unsigned> numbers;
  llvm::DenseMap<mlir::Value, unsigned> slots; ///< By name, among the values.
  std::vector<KeptValue> values, nested;
};

} // namespace meshwright

#endif
