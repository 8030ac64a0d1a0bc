//===- MeshDataFlow.h - Meshes that values are on ---------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// Reads the mesh sets around a value: where its users need it, and where its
// producer can give it without a new transfer.
// Nothing here changes the IR.
//
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_IMPORT_MESHSETS_MESHDATAFLOW_H
#define MESHWRIGHT_IMPORT_MESHSETS_MESHDATAFLOW_H

#include "meshwright/Dialect/Mpmd/Functions.h"
#include "meshwright/Import/MeshSets/MeshSetAttributes.h"
#include "mlir/IR/SymbolTable.h"

namespace mlir::mpmd {

/// Knows the functions of a module, so that sets can be followed through calls.
/// Valid as long as no function comes or goes.
class MeshDataFlow {
public:
  explicit MeshDataFlow(ModuleOp module) : symbols(module) {}

  /// The callee if it is an MPMD function with a body, else null. Such a
  /// function calls no other, so following calls ends after one step.
  func::FuncOp getCallee(CallOp call) const;

  /// The value that a result of a call or of a loop represents, at the end of
  /// the callee or of the loop body; any other value represents itself.
  Value getYieldedValue(Value value) const;

  /// The union of what all users of `value` need, newest use first.
  MeshSet getUses(Value value) const;
  /// The same for all results of `op`, in order.
  MeshSet getUses(Operation *op) const;

  /// Where `value` is available without a new transfer.
  MeshSet getSources(Value value) const;

private:
  MeshSet getUses(OpOperand &use, Block *home) const;

  SymbolTable symbols;
};

} // namespace mlir::mpmd

#endif
