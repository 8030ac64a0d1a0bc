//===- ScalarPart.h - What a fragment does with scalars alone ---*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_EXPORT_ALIKE_SCALARPART_H
#define MESHWRIGHT_EXPORT_ALIKE_SCALARPART_H

#include "meshwright/Dialect/Mpmd/MpmdDialect.h"
#include "meshwright/Dialect/StableHLO/StablehloDialect.h"
#include "mlir/IR/PatternMatch.h"
#include "llvm/ADT/BitVector.h"
#include "llvm/ADT/DenseSet.h"

namespace mlir::mpmd {

/// Unit, on fragments: no result takes the memory of a scalar that it reads, so that it is
/// one program with fragments of other meshes, where others read that scalar later.
inline constexpr StringLiteral kKeepsScalarsAttr = "mpmd.keeps_scalars";

/// Ops of a fragment that make scalars of scalars, without effects, and have no value in
/// common with its other ops, constants aside: the mean of losses, beside an update.
struct ScalarPart {
  DenseSet<Operation *> ops;
  BitVector results; ///< Of the fragment, those that the ops make.
};

/// Without ops if there is no such part, or nothing beside it. Cost: linear.
ScalarPart findScalarPart(FragmentOp fragment);

/// Creates, before a fragment, what it is without its scalar part.
FragmentOp makeCore(FragmentOp fragment, const ScalarPart &part,
                    RewriterBase &rewriter);

/// Replaces a fragment by its core, which is right before it, and its scalar part, which
/// comes first, and is left out if it has no results.
void replaceByParts(FragmentOp fragment, const ScalarPart &part,
                    FragmentOp core, RewriterBase &rewriter);

/// The constant scalar that is returned at a position, if one is.
stablehlo::ConstantOp getReturnedScalar(Operation *terminator, unsigned index);

/// Gives each constant scalar that a fragment returns an op of its own, after all others.
void separateReturnedScalars(FragmentOp fragment, RewriterBase &rewriter);

} // namespace mlir::mpmd

#endif
