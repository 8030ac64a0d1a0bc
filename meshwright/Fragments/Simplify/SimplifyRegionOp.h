//===- SimplifyRegionOp.h - Drops what a region op need not have *- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_FRAGMENTS_SIMPLIFY_SIMPLIFYREGIONOP_H
#define MESHWRIGHT_FRAGMENTS_SIMPLIFY_SIMPLIFYREGIONOP_H

#include "mlir/IR/PatternMatch.h"

namespace mlir::mpmd {

/// Which attributes an op has after simplification.
enum class SimplifiedAttrs {
  /// All; `arg_attrs` and `res_attrs` lose the entries of what goes.
  All,
  /// Those that belong to the op; discardable ones are lost.
  Inherent,
};

/// Simplifies an op with one block, whose arguments are its operands and whose
/// terminator returns its results (a named computation or a fragment):
/// duplicate results and operands become one, results that return an argument
/// of their own type are replaced by the operand, and results without a use go,
/// unless their value comes from an op that is not pure.
///
///   %0:3 = f (%x, %x) (%a, %b) {%s = add %a, %b; return %s, %b, %s}
///   // becomes, with uses of %0#1 redirected to %x and of %0#2 to %0
///   %0 = f (%x) (%a) {%s = add %a, %a; return %s}
///
/// To be used as the body of a greedy pattern: one application does not reach
/// the fixed point. Succeeds if the op was erased or rebuilt. Uses may have
/// been redirected even where it fails: the results of an op with side effects
/// are all unneeded, but the op stays. An op with operands that have no
/// argument is left alone.
LogicalResult simplifyRegionOp(Operation *op, SimplifiedAttrs attrs,
                               RewriterBase &rewriter);

} // namespace mlir::mpmd

#endif
