//===- FuncEdges.h - Values that cross calls of functions -------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// What an edge of functions represents has other names on the other side of
// calls, the sources of the edge:
//
//   call @f(%a)                  func @f(%x) {
//   call @f(%b)                    %e = sdy.func_data_flow_edge %x    %a, %b
//
//   %r = call @f(...)
//   %e = sdy.func_data_flow_edge %r        what each return of @f has for %r
//
// Arguments and results without such an op have no edge.
//
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_DIALECT_SDY_PROPAGATION_TABLE_FUNCEDGES_H
#define MESHWRIGHT_DIALECT_SDY_PROPAGATION_TABLE_FUNCEDGES_H

#include "meshwright/Dialect/Sdy/SdyDialect.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/SymbolTable.h"
#include "llvm/ADT/DenseMap.h"

namespace mlir::sdy {

class FuncEdges {
public:
  FuncEdges() = default;
  FuncEdges(ModuleOp module, const SymbolTable &symbols);

  ArrayRef<OpOperand *> getSources(FuncDataFlowEdgeOp edge) const;
  /// The edges that a value is a source of where it is used so.
  ArrayRef<FuncDataFlowEdgeOp> getEdges(OpOperand &use) const;

private:
  void add(OpOperand &source, Value target);

  llvm::DenseMap<Operation *, SmallVector<OpOperand *>> sourcesOf;
  llvm::DenseMap<OpOperand *, SmallVector<FuncDataFlowEdgeOp>> edgesOf;
};

} // namespace mlir::sdy

#endif
