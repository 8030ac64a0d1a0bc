//===- ControlDependencies.h - Order without data ---------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_FRAGMENTS_CONTROLDEPENDENCIES_H
#define MESHWRIGHT_FRAGMENTS_CONTROLDEPENDENCIES_H

#include "meshwright/Dialect/Mpmd/MpmdDialect.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace mlir::mpmd {

/// What control dependencies are between passes: the number of a fragment,
/// `i64`, and the numbers of those that it runs after, `array<i64>`.
inline constexpr StringLiteral kControlNumberAttr = "mpmd.control_number";
inline constexpr StringLiteral kControlAfterAttr = "mpmd.control_after";

/// Makes `second` run after `first` by appending result 0 of `first` to the
/// operands of `second`. Such operands have no body argument; the attribute
/// `mpmd.control_operand_start_idx` says where they begin. With them the
/// fragment does not verify: they live within a pass. `first` must have a
/// result.
void addControlDependency(FragmentOp first, FragmentOp second);

/// The same for several, in this order.
void addControlDependencies(ArrayRef<FragmentOp> firsts, FragmentOp second);

/// Removes what `addControlDependency` added to the fragments of `func`.
void removeControlDependencies(func::FuncOp func);

/// What a pass does at its end, if it has added or restored any: removes them,
/// or keeps them for a later pass as attributes, with which the program
/// verifies. Those on what is no result of a fragment are removed.
void settleControlDependencies(func::FuncOp func, bool remove);

/// Makes control dependencies again of what an earlier pass has kept. What
/// waits for a fragment that no longer precedes it does not wait. Reports
/// an error at attributes that `settleControlDependencies` did not write.
LogicalResult restoreControlDependencies(func::FuncOp func);

} // namespace mlir::mpmd

#endif
