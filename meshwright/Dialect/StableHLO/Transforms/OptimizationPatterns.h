//===- OptimizationPatterns.h - Rewrites by concept -------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// The rewrites of stablehlo-target-independent-optimization, and what several
// groups of them share.
//
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_DIALECT_STABLEHLO_TRANSFORMS_OPTIMIZATIONPATTERNS_H
#define MESHWRIGHT_DIALECT_STABLEHLO_TRANSFORMS_OPTIMIZATIONPATTERNS_H

#include "meshwright/Dialect/StableHLO/ShapeArithmetic.h"
#include "meshwright/Dialect/StableHLO/StablehloDialect.h"
#include "mlir/IR/PatternMatch.h"
#include "mlir/Rewrite/FrozenRewritePatternSet.h"

namespace mlir::stablehlo {

struct OptimizationOptions {
  bool assumeNoUndeclaredSideEffects = false;
  int64_t foldOpElementLimit = 65536;
  bool optimizeFloat = true;
};

/// x + 0, x * 1, x & 0, comparisons of x with x, choices between equal values.
void populateArithmeticIdentities(RewritePatternSet &patterns,
                                  const OptimizationOptions &options);
/// Constants to the right of commutative ops.
void populateConstantsToTheRight(RewritePatternSet &patterns);
/// Reshapes, transposes, broadcasts and the like that do nothing or compose.
void populateShapeIdentities(RewritePatternSet &patterns);
/// Nested concatenations, slices of concatenations.
void populateConcatenateAndSlice(RewritePatternSet &patterns);
/// Ops with operands for what an attribute could say.
void populateDynamicToStatic(RewritePatternSet &patterns);
/// Arithmetic on constants.
void populateConstantFolding(RewritePatternSet &patterns,
                             const OptimizationOptions &options);
/// Constants whose elements are put in another order.
void populateConstantMovement(RewritePatternSet &patterns,
                              const OptimizationOptions &options);
/// Tensors without elements.
void populateEmptyTensors(RewritePatternSet &patterns);
/// Custom calls of the original API that have a dictionary for a typed one.
void populateCustomCalls(RewritePatternSet &patterns);
/// Inputs of reductions and sorts whose results are unused.
void populateUnusedResults(RewritePatternSet &patterns);
/// Branches that are known, loops that do not run.
void populateControlFlow(RewritePatternSet &patterns,
                         const OptimizationOptions &options);

/// All of them.
void populateTargetIndependentOptimization(RewritePatternSet &patterns,
                                           const OptimizationOptions &options);

/// Rewrites a region, which isolates what is in it from above, to a fixed
/// point, constants at its start. `changed` says whether anything was.
LogicalResult optimizeRegion(Region &region,
                             const FrozenRewritePatternSet &patterns,
                             bool *changed = nullptr);

/// Of values that have one.
inline RankedTensorType getTensorType(Value value) {
  return cast<RankedTensorType>(value.getType());
}

/// Returns the value of a stablehlo.constant of integers, floats or complex
/// numbers; null for anything else.
DenseElementsAttr getConstant(Value value);

/// Returns the one value of a constant whose elements are all equal, or null.
Attribute getSplat(Value value);

/// Whether every element of a constant is 0 (of either sign), 1, or has all its
/// bits set.
bool isConstantZero(Value value);
bool isConstantOne(Value value);
bool isConstantAllOnes(Value value);

/// Returns integer elements as int64_t, sign-extended if signless; nothing if
/// `value` is no constant of integers.
std::optional<SmallVector<int64_t>> getConstantIntegers(Value value);

/// Whether `op` is what an `async_start` starts, the one operation of its body:
/// it must stay, even if it does nothing.
bool isStartedAsynchronously(Operation *op);

/// Whether an op of such operands and properties, which infers its type, may
/// have that of `op`. What is compatible with a type in between need not be
/// compatible with each other.
template <typename OpT>
bool canReplace(Operation *op, ValueRange operands,
                const typename OpT::Properties &properties) {
  SmallVector<Type> inferred;
  return succeeded(OpT::inferReturnTypes(
             op->getContext(), /*location=*/std::nullopt,
             typename OpT::Adaptor(operands, /*attrs=*/{}, properties),
             inferred)) &&
         areTypesCompatible(inferred, op->getResultTypes());
}

/// Replaces `op` and merges its discardable attributes into those of the op
/// that makes `replacement`, where that makes nothing else. Those of `op` win;
/// `mhlo.frontend_attributes` is merged entry by entry.
void replaceKeepingAttrs(PatternRewriter &rewriter, Operation *op,
                         Value replacement);

/// The same, with a new constant.
void replaceByConstant(PatternRewriter &rewriter, Operation *op,
                       DenseElementsAttr value);

/// The same, with a new op whose result type is that of `op`.
template <typename OpT, typename... Args>
void replaceByNewOp(PatternRewriter &rewriter, Operation *op, Args &&...args) {
  auto newOp = OpT::create(rewriter, op->getLoc(), op->getResult(0).getType(),
                           std::forward<Args>(args)...);
  replaceKeepingAttrs(rewriter, op, newOp->getResult(0));
}

} // namespace mlir::stablehlo

#endif
