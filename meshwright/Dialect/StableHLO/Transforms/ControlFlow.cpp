//===- ControlFlow.cpp - Branches and loops whose course is known ---------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

#include "meshwright/Dialect/StableHLO/Region/Branches.h"
#include "meshwright/Dialect/StableHLO/Transforms/OptimizationPatterns.h"
#include "meshwright/Dialect/StableHLO/Transforms/UnusedResults.h"
#include "mlir/Interfaces/CallInterfaces.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "llvm/ADT/SmallVectorExtras.h"

using namespace mlir;
using namespace mlir::stablehlo;

// Pattern: case(constant) -> its branch
static LogicalResult inlineKnownBranch(CaseOp op, PatternRewriter &rewriter) {
  return inlineConstantBranch(op, OutOfRange::LastBranch, rewriter);
}

// Pattern: while(x) whose condition is false -> x
static LogicalResult removeLoopThatNeverRuns(WhileOp op,
                                             PatternRewriter &rewriter) {
  Operation *terminator = op.getCond().front().getTerminator();
  if (!isConstantZero(terminator->getOperand(0)) ||
      op->getOperandTypes() != op->getResultTypes())
    return failure();
  // What the condition does beside deciding is done once, even so.
  if (!isMemoryEffectFree(op) &&
      llvm::any_of(op.getCond().getOps(), [](Operation &nested) {
        return !isMemoryEffectFree(&nested);
      }))
    return failure();
  rewriter.replaceOp(op, op->getOperands());
  return success();
}

// Pattern: while(x) { y is returned as it came } -> y captured
static LogicalResult captureLoopInvariants(WhileOp op,
                                           PatternRewriter &rewriter) {
  Block &cond = op.getCond().front(), &body = op.getBody().front();
  Operation *terminator = body.getTerminator();
  BitVector invariant(op->getNumOperands());
  for (auto [i, operand] : llvm::enumerate(op->getOperands())) {
    Value next = terminator->getOperand(i);
    if ((next == body.getArgument(i) || next == operand) &&
        operand.getType() == body.getArgument(i).getType() &&
        operand.getType() == cond.getArgument(i).getType() &&
        operand.getType() == op->getResult(i).getType())
      invariant.set(i);
  }
  if (invariant.none())
    return failure();

  SmallVector<Value> operands, replacements(op->getOperands());
  SmallVector<Type> types;
  for (auto [i, operand] : llvm::enumerate(op->getOperands())) {
    if (invariant[i]) {
      rewriter.replaceAllUsesWith(cond.getArgument(i), operand);
      rewriter.replaceAllUsesWith(body.getArgument(i), operand);
      continue;
    }
    operands.push_back(operand);
    types.push_back(op->getResult(i).getType());
  }
  rewriter.modifyOpInPlace(terminator,
                           [&] { terminator->eraseOperands(invariant); });
  cond.eraseArguments(invariant);
  body.eraseArguments(invariant);

  auto smaller = WhileOp::create(rewriter, op.getLoc(), types, operands);
  keepDiscardableAttrs(op, smaller, invariant);
  smaller.getCond().takeBody(op.getCond());
  smaller.getBody().takeBody(op.getBody());
  auto next = smaller->result_begin();
  for (auto [i, replacement] : llvm::enumerate(replacements))
    if (!invariant[i])
      replacement = *next++;
  rewriter.replaceOp(op, replacements);
  return success();
}

// Pattern: unused while(x), of ops that declare no effects -> nothing.
// Draws declare none either, but are known to have one.
static LogicalResult removeUnusedLoop(WhileOp op, PatternRewriter &rewriter) {
  if (!op->use_empty())
    return failure();
  WalkResult result = op->walk([](Operation *nested) {
    auto effects = dyn_cast<MemoryEffectOpInterface>(nested);
    bool acts =
        effects ? !effects.hasNoEffect() : isa<RngOp, CallOpInterface>(nested);
    return acts ? WalkResult::interrupt() : WalkResult::advance();
  });
  if (result.wasInterrupted())
    return failure();
  rewriter.eraseOp(op);
  return success();
}
// Pattern: reduce(x) over no dimensions -> x
// Pattern: reduce(x) whose body returns constants -> those, broadcast
static LogicalResult simplifyReduce(ReduceOp op, PatternRewriter &rewriter) {
  auto inputs = op.getInputs();
  if (!isMemoryEffectFree(op))
    return failure();
  if (op.getDimensions().empty() &&
      TypeRange(inputs) == TypeRange(op->getResultTypes())) {
    rewriter.replaceOp(op, inputs);
    return success();
  }
  // Without elements the result is what the reduction starts from.
  if (llvm::any_of(inputs, [](Value input) {
        auto type = cast<RankedTensorType>(input.getType());
        return !type.hasStaticShape() || countElements(type) == 0;
      }))
    return failure();
  SmallVector<DenseElementsAttr> values;
  for (auto [returned, type] :
       llvm::zip_equal(op.getBody().front().getTerminator()->getOperands(),
                       op->getResultTypes())) {
    DenseElementsAttr value = getConstant(returned);
    auto resultType = cast<RankedTensorType>(type);
    if (!value || !value.isSplat() || !resultType.hasStaticShape() ||
        value.getElementType() != resultType.getElementType())
      return failure();
    values.push_back(value.resizeSplat(resultType));
  }
  auto constants =
      llvm::map_to_vector(values, [&](DenseElementsAttr value) -> Value {
        return ConstantOp::create(rewriter, op.getLoc(), value.getType(), value)
            ->getResult(0);
      });
  rewriter.replaceOp(op, constants);
  return success();
}

// Pattern: sort(x, dim = -1) -> sort(x, dim = rank - 1)
static LogicalResult makeSortDimensionExplicit(SortOp op,
                                               PatternRewriter &rewriter) {
  if (static_cast<int64_t>(op.getDimension()) >= 0 || op.getInputs().empty())
    return failure();
  int64_t rank =
      cast<RankedTensorType>(op.getInputs().front().getType()).getRank();
  rewriter.modifyOpInPlace(op,
                           [&] { op.setDimension(op.getDimension() + rank); });
  return success();
}

void mlir::stablehlo::populateControlFlow(RewritePatternSet &patterns,
                                          const OptimizationOptions &options) {
  patterns.add(inlineKnownBranch);
  patterns.add(removeLoopThatNeverRuns);
  patterns.add(captureLoopInvariants);
  patterns.add(simplifyReduce);
  patterns.add(makeSortDimensionExplicit);
  if (options.assumeNoUndeclaredSideEffects)
    patterns.add(removeUnusedLoop);
}
