//===- Flops.h - Floating point work of operations --------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_COST_FLOPS_H
#define MESHWRIGHT_COST_FLOPS_H

#include "mlir/IR/Operation.h"
#include "mlir/IR/SymbolTable.h"

namespace meshwright {

/// Work in global shapes. Transcendental results are counted apart, because
/// they never run at the speed of a matrix product.
struct Work {
  double flops = 0;
  double transcendentals = 0;
  /// Custom calls whose work nobody knows, and loops whose trip count could
  /// not be read and was taken as one.
  unsigned unknown = 0;

  Work &operator+=(const Work &other);
  Work operator*(double factor) const;
};

/// Estimates the work of ops and of everything nested in them. Callees are
/// looked up in the module given at construction and estimated once.
class WorkEstimator {
public:
  explicit WorkEstimator(mlir::Operation *symbolTableOp)
      : symbolTableOp(symbolTableOp) {}

  Work estimate(mlir::Operation *op);
  Work estimate(mlir::Region &region);

private:
  Work estimateCallee(mlir::SymbolRefAttr callee);

  mlir::Operation *symbolTableOp;
  mlir::SymbolTableCollection symbols;
  llvm::DenseMap<mlir::Operation *, Work> callees;
};

} // namespace meshwright

#endif
