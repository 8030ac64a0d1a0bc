//===- BodyCost.h - Kernels, bytes and time of a body -----------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// A backend fuses: runs of elementwise operations, and what moves elements,
// become one kernel, with a reduction at the end or after a matrix product.
// A kernel reads its inputs once and writes what others read:
//
//   %1 = dot %x, %w ; %2 = add %1, %b ; %3 = tanh %2
//   // one kernel: reads %x, %w, %b, writes %3
//
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_COST_BODYCOST_H
#define MESHWRIGHT_COST_BODYCOST_H

#include "meshwright/Cost/FragmentCost.h"
#include "meshwright/Cost/FreeTimes.h"
#include "meshwright/Dialect/Sdy/SdyDialect.h"

namespace meshwright {

/// Estimates bodies whose shardings are known, for one device of a mesh.
class BodyEstimator {
public:
  BodyEstimator(mlir::ModuleOp module, mlir::sdy::MeshAttr mesh,
                const Device &device, WorkEstimator &works)
      : symbols(module), mesh(mesh), device(device), works(works) {}

  FragmentCost estimate(mlir::func::FuncOp fragment) {
    return estimateFunction(fragment, true);
  }

private:
  FragmentCost estimateFunction(mlir::func::FuncOp function, bool isFragment);
  /// `fragment` is the one of which it is the body, if it is.
  FragmentCost estimate(mlir::Block &block, mlir::func::FuncOp fragment = {});
  /// Ops with bodies that run as programs do: loops, branches, calls.
  std::optional<FragmentCost> estimateNested(mlir::Operation *op);
  FragmentCost estimateCallee(mlir::SymbolRefAttr callee);

  mlir::SymbolTable symbols;
  mlir::sdy::MeshAttr mesh;
  const Device &device;
  WorkEstimator &works;
  llvm::DenseMap<mlir::Operation *, FragmentCost> callees;
  FreeTimes freeTimes;
};

} // namespace meshwright

#endif
