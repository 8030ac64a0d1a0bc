//===- FunctionPass.h - Passes on functions of one kind ---------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_DIALECT_MPMD_PASS_FUNCTIONPASS_H
#define MESHWRIGHT_DIALECT_MPMD_PASS_FUNCTIONPASS_H

#include "meshwright/Dialect/Mpmd/Functions.h"
#include "mlir/Pass/Pass.h"

namespace mlir::mpmd {

/// A pass on the functions with a body for which `isMeant` holds. All others keep
/// their analyses. FunctionPass.td has a class for each kind.
template <bool (*isMeant)(func::FuncOp)>
class FunctionPass : public OperationPass<func::FuncOp> {
public:
  using OperationPass::OperationPass;

  void runOnOperation() final {
    func::FuncOp func = getOperation();
    if (func.isDeclaration() || !isMeant(func))
      return markAllAnalysesPreserved();
    runOnFunction(func);
  }

protected:
  virtual void runOnFunction(func::FuncOp func) = 0;
};

using MpmdFunctionPass = FunctionPass<isMpmdFunction>;
using DistributedFunctionPass = FunctionPass<isDistributedFunction>;
using MpmdProgramPass = FunctionPass<isMpmdProgram>;

} // namespace mlir::mpmd

#endif
