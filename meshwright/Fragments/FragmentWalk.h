//===- FragmentWalk.h - Visits fragments, not their bodies ------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_FRAGMENTS_FRAGMENTWALK_H
#define MESHWRIGHT_FRAGMENTS_FRAGMENTWALK_H

#include "meshwright/Dialect/Mpmd/MpmdDialect.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/SymbolTable.h"

namespace mlir::mpmd {

/// Calls `visit` for each op of type `OpT` in `func`, in program order, also in
/// loops, but not in fragments, nor in modules, where names mean something else.
/// Nearly all ops of a program are in fragments, so this takes a small part of
/// the time of `func.walk`. `visit` may not erase.
template <typename OpT>
void walkOutsideFragments(func::FuncOp func, function_ref<void(OpT)> visit) {
  func.walk<WalkOrder::PreOrder>([&](Operation *op) {
    if (auto match = dyn_cast<OpT>(op))
      visit(match);
    return isa<FragmentOp>(op) || op->hasTrait<OpTrait::SymbolTable>()
               ? WalkResult::skip()
               : WalkResult::advance();
  });
}

} // namespace mlir::mpmd

#endif
