//===- LegalizePatterns.h - Patterns from CHLO to StableHLO -----*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_DIALECT_CHLO_TRANSFORMS_LEGALIZEPATTERNS_H
#define MESHWRIGHT_DIALECT_CHLO_TRANSFORMS_LEGALIZEPATTERNS_H

#include "meshwright/Dialect/CHLO/ChloDialect.h"
#include "meshwright/Dialect/StableHLO/StablehloDialect.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"
#include "mlir/IR/PatternMatch.h"

namespace mlir::chlo {

/// chlo.broadcast_* to broadcasts and the operation itself.
void populateBroadcastPatterns(RewritePatternSet &patterns);
/// Special functions to arithmetic.
void populateMathPatterns(RewritePatternSet &patterns);
/// Integer tricks, constants, top_k.
void populateStructuralPatterns(RewritePatternSet &patterns);

} // namespace mlir::chlo

#endif
