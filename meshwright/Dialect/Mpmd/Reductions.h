//===- Reductions.h - Reduction kinds as StableHLO ops ----------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_DIALECT_MPMD_REDUCTIONS_H
#define MESHWRIGHT_DIALECT_MPMD_REDUCTIONS_H

#include "meshwright/Dialect/Mpmd/MpmdDialect.h"
#include "mlir/IR/Builders.h"

namespace mlir::mpmd {

/// The kind that a binary StableHLO op computes; none for other ops.
std::optional<ReductionType> getReductionKind(Operation *op);

/// The kind of a reduction body: each returned value combines, by ops of one
/// kind, the two arguments of its position.
std::optional<ReductionType> getReductionKind(Block &body);

/// Whether StableHLO has an op of the kind for the type, or none is needed, as
/// there is one operand.
bool canCompute(ReduceOp reduce);

/// The StableHLO op of a kind other than none.
Operation *createReductionOp(OpBuilder &builder, Location loc,
                             ReductionType kind, Value lhs, Value rhs);

} // namespace mlir::mpmd

#endif
