//===- Branches.h - Branches that are known ---------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_DIALECT_STABLEHLO_REGION_BRANCHES_H
#define MESHWRIGHT_DIALECT_STABLEHLO_REGION_BRANCHES_H

#include "meshwright/Dialect/StableHLO/StablehloDialect.h"
#include "mlir/IR/PatternMatch.h"

namespace mlir::stablehlo {

/// What a constant index out of range selects: the last branch, as when the
/// program runs, or nothing.
///
/// COMPAT(case-in-range): Nothing in `canonicalize`.
enum class OutOfRange { LastBranch, Nothing };

/// Replaces a `case` by the branch that its constant index selects.
LogicalResult inlineConstantBranch(CaseOp op, OutOfRange outOfRange,
                                   PatternRewriter &rewriter);

} // namespace mlir::stablehlo

#endif
