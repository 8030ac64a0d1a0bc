//===- SimplifyRegionOp.cpp -----------------------------------------------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// Named computations and fragments collect operands and results that nothing
// needs when other passes clone, split or forward. Both are simplified alike:
// first uses are redirected and what becomes unused is marked, then the op
// is rebuilt without what is marked.
//
//===----------------------------------------------------------------------===//

#include "meshwright/Fragments/Simplify/SimplifyRegionOp.h"
#include "meshwright/Dialect/Mpmd/Fragments.h"
#include "meshwright/Dialect/Mpmd/MemoryKinds.h"
#include "meshwright/IR/RebuildOp.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "mlir/Transforms/RegionUtils.h"
#include "llvm/ADT/BitVector.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/STLExtras.h"

using namespace mlir;

namespace {
/// One application of the simplification.
class Simplifier {
public:
  Simplifier(Operation *op, RewriterBase &rewriter)
      : op(op), body(op->getRegion(0).front()),
        terminator(body.getTerminator()), rewriter(rewriter),
        isSuperfluousOperand(op->getNumOperands()),
        isSuperfluousResult(op->getNumResults()) {}

  LogicalResult run(mpmd::SimplifiedAttrs attrs);

private:
  void markDuplicateResults();
  void markDuplicateOperands();
  void markReturnedArguments();
  void markUnusedResults();
  void rebuild(mpmd::SimplifiedAttrs attrs);

  Operation *op;
  Block &body;
  Operation *terminator;
  RewriterBase &rewriter;
  BitVector isSuperfluousOperand, isSuperfluousResult;
};
} // namespace

void Simplifier::markDuplicateResults() {
  DenseMap<std::pair<Value, Type>, Value> first;
  for (auto [returned, result] :
       llvm::zip_equal(terminator->getOperands(), op->getResults())) {
    auto [it, isNew] = first.try_emplace({returned, result.getType()}, result);
    if (isNew || !mpmd::isOnHostAs(result, it->second))
      continue;
    rewriter.replaceAllUsesWith(result, it->second);
    isSuperfluousResult.set(result.getResultNumber());
  }
}

void Simplifier::markDuplicateOperands() {
  DenseMap<std::pair<Value, Type>, BlockArgument> first;
  for (auto [operand, argument] :
       llvm::zip_equal(op->getOperands(), body.getArguments())) {
    auto [it, isNew] =
        first.try_emplace({operand, argument.getType()}, argument);
    if (isNew)
      continue;
    rewriter.replaceAllUsesWith(argument, it->second);
    isSuperfluousOperand.set(argument.getArgNumber());
  }
}

void Simplifier::markReturnedArguments() {
  for (auto [operand, argument] :
       llvm::zip_equal(op->getOperands(), body.getArguments())) {
    bool isNeeded = false;
    for (OpOperand &use : argument.getUses()) {
      Value result = use.getOwner() == terminator
                         ? op->getResult(use.getOperandNumber())
                         : Value();
      if (!result || result.getType() != operand.getType() ||
          !mpmd::isOnHostAs(result, operand)) {
        isNeeded = true;
        continue;
      }
      rewriter.replaceAllUsesWith(result, operand);
      isSuperfluousResult.set(use.getOperandNumber());
    }
    if (!isNeeded)
      isSuperfluousOperand.set(argument.getArgNumber());
  }
}

void Simplifier::markUnusedResults() {
  for (auto [returned, result] :
       llvm::zip_equal(terminator->getOperands(), op->getResults())) {
    if (!result.use_empty())
      continue;
    Operation *def = returned.getDefiningOp();
    if (op->getNumResults() == 1 ? isPure(op) : !def || isPure(def))
      isSuperfluousResult.set(result.getResultNumber());
  }
}

void Simplifier::rebuild(mpmd::SimplifiedAttrs attrs) {
  SmallVector<Value> operands;
  for (auto [index, operand] : llvm::enumerate(op->getOperands()))
    if (!isSuperfluousOperand[index])
      operands.push_back(operand);
  SmallVector<Value> results;
  for (auto [index, result] : llvm::enumerate(op->getResults()))
    if (!isSuperfluousResult[index])
      results.push_back(result);

  rewriter.modifyOpInPlace(
      terminator, [&] { terminator->eraseOperands(isSuperfluousResult); });
  body.eraseArguments(isSuperfluousOperand);
  Operation *rebuilt =
      mpmd::rebuildOp(op, operands, TypeRange(ValueRange(results)), rewriter);
  rewriter.modifyOpInPlace(rebuilt, [&] {
    if (attrs == mpmd::SimplifiedAttrs::Inherent)
      return rebuilt->setDiscardableAttrs(ArrayRef<NamedAttribute>());
    mpmd::dropArgAttrs(rebuilt, isSuperfluousOperand);
    mpmd::dropResAttrs(rebuilt, isSuperfluousResult);
  });
  // Success only means that something was dead.
  (void)simplifyRegions(rewriter, rebuilt->getRegions(), /*mergeBlocks=*/false);

  for (auto [result, replacement] :
       llvm::zip_equal(results, rebuilt->getResults()))
    rewriter.replaceAllUsesWith(result, replacement);
  rewriter.eraseOp(op);
}

LogicalResult Simplifier::run(mpmd::SimplifiedAttrs attrs) {
  markDuplicateResults();
  markDuplicateOperands();
  markReturnedArguments();
  markUnusedResults();

  if (isSuperfluousResult.all()) {
    if (!isPure(op))
      return failure();
    rewriter.eraseOp(op);
    return success();
  }
  if (isSuperfluousOperand.none() && isSuperfluousResult.none())
    return failure();
  rebuild(attrs);
  return success();
}

LogicalResult mpmd::simplifyRegionOp(Operation *op, SimplifiedAttrs attrs,
                                     RewriterBase &rewriter) {
  if (op->getNumOperands() != op->getRegion(0).getNumArguments())
    return failure();
  return Simplifier(op, rewriter).run(attrs);
}
