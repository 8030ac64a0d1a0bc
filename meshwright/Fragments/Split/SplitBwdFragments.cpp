//===- SplitBwdFragments.cpp - What other meshes wait for goes first ------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// A backward fragment computes the gradient of its input, which the previous
// mesh waits for, and the gradients of its parameters, which nobody waits for
// until the optimizer step. Split in two, the second half can fill the bubbles
// of the schedule. A result belongs to the first half if a transfer reads it.
// What has effects goes along with later effects of the first half, so that all
// keep their order.
//
//===----------------------------------------------------------------------===//

#include "meshwright/Dialect/Mpmd/Effects.h"
#include "meshwright/Dialect/Mpmd/Fragments.h"
#include "meshwright/Fragments/FragmentWalk.h"
#include "meshwright/Fragments/Split/Passes.h"
#include "meshwright/Fragments/Split/SplitFragment.h"
#include "meshwright/IR/OutsideReads.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace mlir::mpmd {
#define GEN_PASS_DEF_SPLITBWDFRAGMENTSPASS
#include "meshwright/Fragments/Split/Passes.h.inc"
} // namespace mlir::mpmd

using namespace mlir;
using namespace mlir::mpmd;

static BitVector findUntransferredResults(FragmentOp fragment) {
  BitVector late(fragment->getNumResults());
  for (OpResult result : fragment->getResults())
    if (llvm::none_of(result.getUsers(), llvm::IsaPred<TransferOp>))
      late.set(result.getResultNumber());
  return late;
}

/// Adds the ops of the body that `values` depend on to those known so far.
static void addDependencies(SmallVector<Value> values,
                            DenseSet<Operation *> &known) {
  while (!values.empty()) {
    Operation *op = values.pop_back_val().getDefiningOp();
    if (!op || !known.insert(op).second)
      continue;
    SetVector<Value> operands = getOutsideReads(op);
    values.append(operands.begin(), operands.end());
  }
}

/// Lets all effects before the last early one be early as well.
static void keepEffectOrder(Block &body, DenseSet<Operation *> &earlyOps) {
  SmallVector<Operation *> effects;
  size_t numEarly = 0;
  for (Operation &op : body.without_terminator())
    if (hasEffects(&op)) {
      effects.push_back(&op);
      if (earlyOps.contains(&op))
        numEarly = effects.size();
    }
  for (Operation *op : ArrayRef(effects).take_front(numEarly)) {
    SetVector<Value> operands = getOutsideReads(op);
    addDependencies(operands.takeVector(), earlyOps);
    earlyOps.insert(op);
  }
}

namespace {
struct SplitBwdFragmentsPass
    : mpmd::impl::SplitBwdFragmentsPassBase<SplitBwdFragmentsPass> {
  using Base::Base;

  void runOnOperation() override {
    IRRewriter rewriter(&getContext());
    SmallVector<FragmentOp> fragments;
    walkOutsideFragments<FragmentOp>(getOperation(), [&](FragmentOp fragment) {
      if (isBackwardFragment(fragment) && !isSplitFragment(fragment))
        fragments.push_back(fragment);
    });

    for (FragmentOp fragment : fragments) {
      FragmentCut cut;
      cut.lateResults = findUntransferredResults(fragment);
      if (cut.lateResults.none() || cut.lateResults.all())
        continue;
      if (failed(verifyNotYetSharded(fragment)))
        return signalPassFailure();

      Operation *terminator = fragment.getRegion().front().getTerminator();
      SmallVector<Value> transferred;
      for (auto [i, value] : llvm::enumerate(terminator->getOperands()))
        if (!cut.lateResults.test(i))
          transferred.push_back(value);
      addDependencies(std::move(transferred), cut.earlyOps);
      keepEffectOrder(fragment.getRegion().front(), cut.earlyOps);
      if (splitFragment(fragment, cut, rewriter))
        ++numFragments;
    }
  }
};
} // namespace
