//===- FunctionPass.td ----------------------------------*- tablegen -*-===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_DIALECT_MPMD_PASS_FUNCTIONPASS_TD
#define MESHWRIGHT_DIALECT_MPMD_PASS_FUNCTIONPASS_TD

include "mlir/Pass/PassBase.td"

/// A pass on functions with a body of one kind; it defines `runOnFunction`.
class FunctionPass<string argument, string base> : PassBase<argument, base> {
  let dependentDialects = ["::mlir::mpmd::MpmdDialect"];
}

/// On functions with a topology.
class MpmdFunctionPass<string argument>
    : FunctionPass<argument, "::mlir::mpmd::MpmdFunctionPass">;

/// On functions with a topology or a mesh.
class DistributedFunctionPass<string argument>
    : FunctionPass<argument, "::mlir::mpmd::DistributedFunctionPass">;

/// On public functions of one block with a topology.
class MpmdProgramPass<string argument>
    : FunctionPass<argument, "::mlir::mpmd::MpmdProgramPass">;

#endif
