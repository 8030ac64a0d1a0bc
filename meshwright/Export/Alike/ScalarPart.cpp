//===- ScalarPart.cpp -----------------------------------------------------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// The ops of a body are nodes of a graph whose edges are the values that one makes and
// another reads, but for constants, of which both may have a copy. A connected component
// of ops on scalars is part of the scalar part.
//
//===----------------------------------------------------------------------===//

#include "meshwright/Export/Alike/ScalarPart.h"
#include "meshwright/Dialect/Mpmd/Effects.h"
#include "meshwright/Dialect/Mpmd/Fragments.h"
#include "meshwright/IR/OutsideReads.h"
#include "meshwright/IR/RebuildOp.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/Matchers.h"
#include "llvm/ADT/EquivalenceClasses.h"
#include "llvm/ADT/STLExtras.h"

using namespace mlir;
using namespace mlir::mpmd;

static bool isConstant(Operation *op) { return matchPattern(op, m_Constant()); }

static bool isOnScalars(Operation *op) {
  auto isScalar = [](Type type) {
    auto tensor = dyn_cast<RankedTensorType>(type);
    return tensor && tensor.getRank() == 0;
  };
  return op->getNumRegions() == 0 && !hasEffects(op) &&
         llvm::all_of(op->getOperandTypes(), isScalar) &&
         llvm::all_of(op->getResultTypes(), isScalar);
}

ScalarPart mpmd::findScalarPart(FragmentOp fragment) {
  Block &body = *fragment.getBody();
  llvm::EquivalenceClasses<Operation *> components;
  SmallVector<Operation *> ops;
  for (Operation &op : body.without_terminator())
    if (!isConstant(&op)) {
      ops.push_back(&op);
      components.insert(&op);
      for (Value read : getOutsideReads(&op))
        if (Operation *def = read.getDefiningOp(); def && !isConstant(def))
          components.unionSets(def, &op);
    }
  DenseSet<Operation *> others; // Leaders of components with arrays.
  for (Operation *op : ops)
    if (!isOnScalars(op))
      others.insert(components.getLeaderValue(op));
  ScalarPart part;
  part.results.resize(fragment->getNumResults());
  if (others.empty())
    return part;
  for (Operation *op : ops)
    if (!others.contains(components.getLeaderValue(op)))
      part.ops.insert(op);
  for (OpOperand &returned : body.getTerminator()->getOpOperands())
    if (part.ops.contains(returned.get().getDefiningOp()))
      part.results.set(returned.getOperandNumber());
  return part;
}

/// Creates, before a fragment, one with some of its results, and the ops and operands that
/// these need.
static FragmentOp makePart(FragmentOp fragment, const BitVector &dropped,
                           function_ref<bool(Operation *)> isKept,
                           RewriterBase &rewriter) {
  rewriter.setInsertionPoint(fragment);
  IRMapping mapping;
  auto copy = cast<FragmentOp>(rewriter.clone(*fragment, mapping));
  Block &body = *copy.getBody();
  body.getTerminator()->eraseOperands(dropped);
  for (Operation &op :
       llvm::reverse(fragment.getBody()->without_terminator())) {
    Operation *copied = mapping.lookup(&op);
    if (isConstant(&op) ? copied->use_empty() : !isKept(&op))
      rewriter.eraseOp(copied);
  }
  BitVector isUnused(copy->getNumOperands());
  for (auto [argument, original] :
       llvm::zip_equal(body.getArguments(), fragment.getBody()->getArguments()))
    if (argument.use_empty() && !original.use_empty())
      isUnused.set(argument.getArgNumber());
  dropArgAttrs(copy, isUnused);
  copy->eraseOperands(isUnused);
  body.eraseArguments(isUnused);

  SmallVector<Type> types;
  for (OpResult result : copy->getResults())
    if (!dropped.test(result.getResultNumber()))
      types.push_back(result.getType());
  auto rebuilt =
      cast<FragmentOp>(rebuildOp(copy, copy->getOperands(), types, rewriter));
  dropResAttrs(rebuilt, dropped);
  rewriter.eraseOp(copy);
  return rebuilt;
}

FragmentOp mpmd::makeCore(FragmentOp fragment, const ScalarPart &part,
                          RewriterBase &rewriter) {
  return makePart(
      fragment, part.results,
      [&](Operation *op) { return !part.ops.contains(op); }, rewriter);
}

void mpmd::replaceByParts(FragmentOp fragment, const ScalarPart &part,
                          FragmentOp core, RewriterBase &rewriter) {
  if (part.results.none()) { // Nothing reads what the ops make.
    rewriter.replaceOp(fragment, core);
    return;
  }
  BitVector ofCore(part.results);
  ofCore.flip();
  FragmentOp scalars = makePart(
      fragment, ofCore, [&](Operation *op) { return part.ops.contains(op); },
      rewriter);
  rewriter.moveOpBefore(scalars, core);
  auto nextOfCore = core->result_begin(), nextScalar = scalars->result_begin();
  SmallVector<Value> results;
  for (unsigned index = 0; index < fragment->getNumResults(); ++index)
    results.push_back(part.results.test(index) ? *nextScalar++ : *nextOfCore++);
  rewriter.replaceOp(fragment, results);
}

stablehlo::ConstantOp mpmd::getReturnedScalar(Operation *terminator,
                                              unsigned index) {
  auto constant =
      terminator->getOperand(index).getDefiningOp<stablehlo::ConstantOp>();
  bool isScalar =
      constant && cast<ShapedType>(constant.getType()).getRank() == 0;
  return isScalar ? constant : stablehlo::ConstantOp();
}

void mpmd::separateReturnedScalars(FragmentOp fragment,
                                   RewriterBase &rewriter) {
  Operation *terminator = fragment.getBody()->getTerminator();
  rewriter.setInsertionPoint(terminator);
  for (OpOperand &operand : terminator->getOpOperands())
    if (auto constant =
            getReturnedScalar(terminator, operand.getOperandNumber())) {
      operand.set(rewriter.clone(*constant)->getResult(0));
      if (constant->use_empty())
        rewriter.eraseOp(constant);
    }
}
