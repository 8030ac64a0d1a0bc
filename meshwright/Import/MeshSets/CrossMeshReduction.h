//===- CrossMeshReduction.h - Ops that reduce across meshes -----*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// Programs write a reduction of values on several meshes in two ways:
//
//   %2 = stablehlo.add %0, %1
//
//   %2 = stablehlo.concatenate %0, %1, dim = 0 : tensor<1x4>, tensor<1x4>
//   %3 = stablehlo.reduce(%2 init: %c) across dimensions = [0], add
//
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_IMPORT_MESHSETS_CROSSMESHREDUCTION_H
#define MESHWRIGHT_IMPORT_MESHSETS_CROSSMESHREDUCTION_H

#include "meshwright/Dialect/Mpmd/MpmdDialect.h"
#include "meshwright/Dialect/StableHLO/StablehloDialect.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include <optional>

namespace mlir::mpmd {

/// The reduce that sums up the pieces of `concat`, one per mesh: it is the only
/// user, and reduces the dimension of size one along which the pieces, all of
/// one type, are put together. Null if there is none.
stablehlo::ReduceOp getReduceOfPieces(stablehlo::ConcatenateOp concat);

/// The concatenation that `reduce` is paired with by the same rule, or null.
stablehlo::ConcatenateOp getConcatOfPieces(stablehlo::ReduceOp reduce);

/// What the body of `reduce` computes, none if it is no reduction we know.
std::optional<ReductionType> getBodyReductionKind(stablehlo::ReduceOp reduce);

/// What `op` reduces if its operands are on different meshes: a sum of them, or a
/// concatenation that is summed up.
std::optional<ReductionType> getKindAcrossMeshes(Operation *op);

/// Whether combining with `init` makes no difference to any number: it is 0 in a
/// sum, for instance.
bool isIdentity(Value init, ReductionType kind);

/// The kind of reduction that `op` is marked with by `mpmd.reduce`.
std::optional<ReductionType> getMarkedReduction(Operation *op);

/// Erases `mpmd.reduce<none>` of single operands. Where transfers are added, sums may
/// become reductions across meshes, so that no op has to say so of its operand; mesh
/// inference would place the two apart.
void eraseConsents(func::FuncOp func);

} // namespace mlir::mpmd

#endif
