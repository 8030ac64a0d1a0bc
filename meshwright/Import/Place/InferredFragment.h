//===- InferredFragment.h - Place one op on a mesh --------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_IMPORT_PLACE_INFERREDFRAGMENT_H
#define MESHWRIGHT_IMPORT_PLACE_INFERREDFRAGMENT_H

#include "meshwright/Dialect/Mpmd/MpmdDialect.h"
#include "mlir/IR/PatternMatch.h"

namespace mlir::mpmd {

/// Clones `op` into a new inferred fragment on mesh `meshName`, right before
/// `op`, and lets the uses of its results that `shouldReplace` accepts read the
/// fragment instead. The fragment names `inferredBy` as the pass that made it.
///
///   %1 = stablehlo.add %0, %0       %a = mpmd.assign %0
///                                   %f = mpmd.fragment<mesh="m"> (%a) (%x) {
///                                     %s = stablehlo.add %x, %x
///                                     mpmd.return %s
///                                   }
///                                   %u = mpmd.unassign %f
///
/// Tensors that the op reads, itself or in its regions, are assigned to the
/// mesh, once each; other values (tokens) enter the fragment as they are. The
/// op itself stays, for the caller to erase.
FragmentOp wrapInInferredFragment(
    Operation *op, StringRef meshName, StringRef inferredBy,
    RewriterBase &rewriter,
    function_ref<bool(OpOperand &)> shouldReplace = [](OpOperand &) {
      return true;
    });

} // namespace mlir::mpmd

#endif
