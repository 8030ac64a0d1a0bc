//===- ConstantsToTheRight.cpp - One order for constants ------------------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// The other rewrites look for a constant on the right only.
//
//===----------------------------------------------------------------------===//

#include "meshwright/Dialect/StableHLO/Transforms/OptimizationPatterns.h"

using namespace mlir;
using namespace mlir::stablehlo;

/// Whether only the left operand is a constant.
static bool isConstantOnTheLeft(Operation *op) {
  return getConstant(op->getOperand(0)) && !getConstant(op->getOperand(1));
}

// Pattern: op(c, x) -> op(x, c)
template <typename OpT>
static LogicalResult swapOperands(OpT op, PatternRewriter &rewriter) {
  if (!isConstantOnTheLeft(op))
    return failure();
  rewriter.modifyOpInPlace(
      op, [&] { op->setOperands({op.getRhs(), op.getLhs()}); });
  return success();
}

static ComparisonDirection mirror(ComparisonDirection direction) {
  switch (direction) {
  case ComparisonDirection::GE:
    return ComparisonDirection::LE;
  case ComparisonDirection::GT:
    return ComparisonDirection::LT;
  case ComparisonDirection::LE:
    return ComparisonDirection::GE;
  case ComparisonDirection::LT:
    return ComparisonDirection::GT;
  case ComparisonDirection::EQ:
  case ComparisonDirection::NE:
    return direction;
  }
  llvm_unreachable("unknown comparison direction");
}

// Pattern: compare(c, x, LT) -> compare(x, c, GT), of integers
static LogicalResult swapComparison(CompareOp op, PatternRewriter &rewriter) {
  if (!isConstantOnTheLeft(op) ||
      !isa<IntegerType>(getElementTypeOrSelf(op.getLhs())))
    return failure();
  rewriter.modifyOpInPlace(op, [&] {
    op->setOperands({op.getRhs(), op.getLhs()});
    op.setComparisonDirection(mirror(op.getComparisonDirection()));
  });
  return success();
}

void mlir::stablehlo::populateConstantsToTheRight(RewritePatternSet &patterns) {
  patterns.add(swapOperands<AddOp>);
  patterns.add(swapOperands<AndOp>);
  patterns.add(swapOperands<MaximumOp>);
  patterns.add(swapOperands<MinimumOp>);
  patterns.add(swapOperands<MultiplyOp>);
  patterns.add(swapOperands<OrOp>);
  patterns.add(swapOperands<XorOp>);
  patterns.add(swapComparison);
}
