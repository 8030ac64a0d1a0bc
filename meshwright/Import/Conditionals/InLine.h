//===- InLine.h - Conditionals in line --------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// Mesh inference does not look into regions. Analyses that have to know where the ops
// in branches belong are run on a copy of the program in which the branches are in
// line.
//
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_IMPORT_CONDITIONALS_INLINE_H
#define MESHWRIGHT_IMPORT_CONDITIONALS_INLINE_H

#include "mlir/IR/BuiltinOps.h"
#include "llvm/ADT/SmallVector.h"

namespace mlir::mpmd {

/// Whether `op` runs one of its branches: a `stablehlo.if` or `stablehlo.case`.
bool isConditional(Operation *op);

/// The conditionals of MPMD functions with several meshes that are in no other region
/// than branches. Nested ones come before those around them.
SmallVector<Operation *> collectConditionals(ModuleOp module);

/// Puts the branches of `op` in line before it, and in its place an op per
/// result that reads what each branch gives; returns these. The predicate is left
/// out: it is small and can travel.
SmallVector<Operation *> inlineBranches(Operation *op);

} // namespace mlir::mpmd

#endif
