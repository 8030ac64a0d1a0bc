//===- UnusedResults.cpp - Reductions and sorts of less -------------------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// A reduction or sort of several inputs may be left with results that nothing
// uses. An input can only go with its result if what remains is computed
// without it:
//
//   %r:2 = reduce(%x, %y) {                    %r = reduce(%x) {
//     %0 = add %x0, %x1                          %0 = add %x0, %x1
//     %1 = maximum %y0, %y1                      return %0
//     return %0, %1                            }
//   }
//   use %r#0                                   use %r
//
//===----------------------------------------------------------------------===//

#include "meshwright/Dialect/StableHLO/Transforms/UnusedResults.h"
#include "meshwright/Dialect/StableHLO/ResultAttrs.h"
#include "meshwright/Dialect/StableHLO/Transforms/OptimizationPatterns.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "llvm/ADT/BitVector.h"
#include "llvm/ADT/DenseSet.h"

using namespace mlir;
using namespace mlir::stablehlo;

/// The arguments and ops of a block that some values, and the ops with effects
/// in it, are computed from.
static DenseSet<void *> findNeeded(Block &block, ValueRange roots) {
  DenseSet<void *> needed; // Membership only.
  SmallVector<Value> worklist(roots);
  auto addOperands = [&](Operation *op) {
    if (needed.insert(op).second)
      op->walk([&](Operation *nested) {
        llvm::append_range(worklist, nested->getOperands());
      });
  };
  for (Operation &op : block.without_terminator())
    if (!isMemoryEffectFree(&op))
      addOperands(&op);
  while (!worklist.empty()) {
    Value value = worklist.pop_back_val();
    if (value.getParentBlock() != &block)
      continue;
    if (Operation *op = value.getDefiningOp())
      addOperands(op);
    else
      needed.insert(value.getAsOpaquePointer());
  }
  return needed;
}

static void eraseUnneededOps(Block &block, const DenseSet<void *> &needed,
                             PatternRewriter &rewriter) {
  SmallVector<Operation *> ops;
  for (Operation &op : block.without_terminator())
    if (!needed.contains(&op))
      ops.push_back(&op);
  for (Operation *op : llvm::reverse(ops)) // Users first.
    rewriter.eraseOp(op);
}

/// Which of the inputs can go: those without a use of their result of which
/// neither body argument is needed.
static BitVector findUnused(Operation *op, const DenseSet<void *> &needed,
                            function_ref<Value(unsigned, unsigned)> bodyArg) {
  BitVector unused(op->getNumResults());
  for (OpResult result : op->getResults()) {
    unsigned index = result.getResultNumber();
    auto isNeeded = [&](unsigned side) {
      return needed.contains(bodyArg(index, side).getAsOpaquePointer());
    };
    if (result.use_empty() && !isNeeded(0) && !isNeeded(1))
      unused.set(index);
  }
  return unused;
}

static SmallVector<Value> select(ValueRange values, const BitVector &unused) {
  SmallVector<Value> kept;
  for (auto [index, value] : llvm::enumerate(values))
    if (!unused[index])
      kept.push_back(value);
  return kept;
}

void mlir::stablehlo::keepDiscardableAttrs(Operation *op, Operation *smaller,
                                           const BitVector &dropped) {
  for (NamedAttribute attr : op->getDiscardableAttrs()) {
    if (describesOperands(attr)) // Some of which are gone, too.
      continue;
    Attribute value = attr.getValue();
    if (Dialect *dialect = attr.getNameDialect())
      if (auto *owner = dialect->getRegisteredInterface<ResultAttrs>())
        value = owner->withoutResults(attr, dropped);
    if (value)
      smaller->setDiscardableAttr(attr.getName(), value);
  }
}

/// Lets a smaller op take the place of one, whose unused results vanish.
static void replaceUsedResults(Operation *op, Operation *smaller,
                               const BitVector &unused,
                               PatternRewriter &rewriter) {
  keepDiscardableAttrs(op, smaller, unused);
  auto next = smaller->result_begin();
  for (OpResult result : op->getResults())
    if (!unused[result.getResultNumber()])
      rewriter.replaceAllUsesWith(result, *next++);
  rewriter.eraseOp(op);
}

// Pattern: reduce(x, y), of which one result is used -> reduce(x)
static LogicalResult dropUnusedReductions(ReduceOp op,
                                          PatternRewriter &rewriter) {
  unsigned count = op->getNumResults();
  if (count < 2 ||
      llvm::none_of(op->getResults(), [](OpResult r) { return r.use_empty(); }))
    return failure();
  Block &body = op.getBody().front();
  Operation *terminator = body.getTerminator();
  auto bodyArg = [&](unsigned index, unsigned side) -> Value {
    return body.getArgument(index + side * count);
  };

  // An input that the rest needs makes its own reduction needed, and so on.
  BitVector unused(count);
  for (OpResult result : op->getResults())
    unused[result.getResultNumber()] = result.use_empty();
  DenseSet<void *> needed;
  while (true) {
    needed = findNeeded(body, select(terminator->getOperands(), unused));
    BitVector next = findUnused(op, needed, bodyArg);
    next &= unused;
    if (next == unused)
      break;
    unused = next;
  }
  if (unused.none() || unused.all())
    return failure();

  rewriter.modifyOpInPlace(terminator,
                           [&] { terminator->eraseOperands(unused); });
  eraseUnneededOps(body, needed, rewriter);
  BitVector unusedArgs(2 * count);
  for (unsigned index : unused.set_bits()) {
    unusedArgs.set(index);
    unusedArgs.set(index + count);
  }
  body.eraseArguments(unusedArgs);
  SmallVector<Value> inputs = select(op.getInputs(), unused);
  SmallVector<Value> inits = select(op.getInitValues(), unused);
  SmallVector<Value> results = select(op->getResults(), unused);
  auto smaller =
      ReduceOp::create(rewriter, op.getLoc(), ValueRange(results).getTypes(),
                       inputs, inits, op.getDimensionsAttr());
  smaller.getBody().takeBody(op.getBody());
  replaceUsedResults(op, smaller, unused, rewriter);
  return success();
}

// Pattern: sort(x, y), of which y is neither used nor compared -> sort(x)
static LogicalResult dropUnusedSorts(SortOp op, PatternRewriter &rewriter) {
  if (llvm::none_of(op->getResults(), [](OpResult r) { return r.use_empty(); }))
    return failure();
  Block &body = op.getComparator().front();
  auto bodyArg = [&](unsigned index, unsigned side) -> Value {
    return body.getArgument(2 * index + side);
  };
  DenseSet<void *> needed =
      findNeeded(body, body.getTerminator()->getOperands());
  BitVector unused = findUnused(op, needed, bodyArg);
  if (unused.none() || unused.all())
    return failure();

  eraseUnneededOps(body, needed, rewriter);
  BitVector unusedArgs(2 * op->getNumResults());
  for (unsigned index : unused.set_bits())
    unusedArgs.set(2 * index, 2 * index + 2);
  body.eraseArguments(unusedArgs);
  SmallVector<Value> inputs = select(op.getInputs(), unused);
  auto smaller = SortOp::create(
      rewriter, op.getLoc(), ValueRange(inputs).getTypes(), inputs,
      op.getDimensionAttr(), rewriter.getBoolAttr(op.getIsStable()));
  smaller.getComparator().takeBody(op.getComparator());
  replaceUsedResults(op, smaller, unused, rewriter);
  return success();
}

void mlir::stablehlo::populateUnusedResults(RewritePatternSet &patterns) {
  patterns.add(dropUnusedReductions);
  patterns.add(dropUnusedSorts);
}
