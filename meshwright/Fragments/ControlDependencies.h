//===- ControlDependencies.h - Order without data ---------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_FRAGMENTS_CONTROLDEPENDENCIES_H
#define MESHWRIGHT_FRAGMENTS_CONTROLDEPENDENCIES_H

#include "meshwright/Dialect/Mpmd/MpmdDialect.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace mlir::mpmd {

/// Makes `second` run after `first` by appending result 0 of `first` to the
/// operands of `second`. Such operands have no body argument; the attribute
/// `mpmd.control_operand_start_idx` says where they begin. Until they are
/// removed, the fragment does not verify. `first` must have a result.
void addControlDependency(FragmentOp first, FragmentOp second);

/// The same for several, in this order.
void addControlDependencies(ArrayRef<FragmentOp> firsts, FragmentOp second);

/// Removes what `addControlDependency` added to the fragments of `func`.
void removeControlDependencies(func::FuncOp func);

} // namespace mlir::mpmd

#endif
