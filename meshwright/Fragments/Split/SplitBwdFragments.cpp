//===- SplitBwdFragments.cpp - What other meshes wait for goes first ------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// A backward fragment computes the gradient of its input, which the previous
// mesh waits for, and the gradients of its parameters, which nothing waits for
// until the optimizer step. Split in two, the second half can fill the bubbles
// of the schedule. A result belongs to the first half if a transfer reads it.
// But the sum of the gradients of a weight that another mesh has, too, is sent
// after the last microbatch, and reads what second halves before it have added:
//
//   %g0 = fragment<["l"(1)]> {call_counter = 0, split_drop_transferred}
//   %f:2 = fragment<["l"(1)]> (%g0, %x) {call_counter = 1} (%g, %u) {
//     %d = tanh(%u)                     // early: the mesh before waits for it
//     mpmd.return add(%g, %d), %d       // late, though both are transferred
//   }
//
// What has effects goes along with later effects of the first half, so that all
// keep their order.
//
//===----------------------------------------------------------------------===//

#include "meshwright/Dialect/Mpmd/Effects.h"
#include "meshwright/Dialect/Mpmd/Fragments.h"
#include "meshwright/Fragments/FragmentWalk.h"
#include "meshwright/Fragments/Split/SplitFragment.h"
#include "meshwright/Fragments/Split/SplitManual.h"
#include "meshwright/IR/OutsideReads.h"

#define GEN_PASS_DEF_SPLITBWDFRAGMENTSPASS
#include "meshwright/Fragments/Split/Passes.h"

using namespace mlir;
using namespace mlir::mpmd;

static bool isOfLateHalf(Value value) {
  auto fragment = value.getDefiningOp<FragmentOp>();
  return fragment && fragment->hasAttr(kSplitDropTransferredAttr);
}

/// The results that depend on what late halves before the fragment compute.
static BitVector findResultsOfLateHalves(FragmentOp fragment) {
  BitVector late(fragment->getNumResults());
  if (llvm::none_of(fragment.getOperands(), isOfLateHalf))
    return late;
  Block &body = fragment.getRegion().front();
  DenseSet<Value> lateValues;
  for (auto [operand, argument] :
       llvm::zip_equal(fragment.getOperands(), body.getArguments()))
    if (isOfLateHalf(operand))
      lateValues.insert(argument);
  for (Operation &op : body.without_terminator())
    if (llvm::any_of(getOutsideReads(&op),
                     [&](Value read) { return lateValues.contains(read); }))
      lateValues.insert_range(op.getResults());
  for (auto [i, value] : llvm::enumerate(body.getTerminator()->getOperands()))
    if (lateValues.contains(value))
      late.set(i);
  return late;
}

/// Whether another mesh reads a result in one of its microbatches.
static bool isAwaited(OpResult result) {
  return llvm::any_of(result.getUsers(), [](Operation *user) {
    return isa<TransferOp>(user) &&
           llvm::any_of(user->getUsers(), [](Operation *reader) {
             auto fragment = dyn_cast<FragmentOp>(reader);
             return fragment && getCallCounter(fragment);
           });
  });
}

/// Sums are no reason to split a fragment that sends all that it computes, unless a
/// microbatch of another mesh reads the rest, but not them. And where all that is sent
/// reads what is late, it is early all the same: no other mesh is waiting for the rest.
static BitVector findLateResults(FragmentOp fragment) {
  BitVector untransferred = findUntransferredResults(fragment);
  if (untransferred.none()) {
    BitVector sums = findResultsOfLateHalves(fragment);
    bool isRestAwaited = false;
    for (OpResult result : fragment->getResults()) {
      bool isSum = sums.test(result.getResultNumber());
      if (isSum && isAwaited(result))
        return untransferred;
      isRestAwaited |= !isSum && isAwaited(result);
    }
    return isRestAwaited ? sums : untransferred;
  }
  BitVector late = untransferred;
  late |= findResultsOfLateHalves(fragment);
  return late.all() ? untransferred : late;
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
      cut.lateResults = findLateResults(fragment);
      if (cut.lateResults.none() || cut.lateResults.all())
        continue;
      if (failed(verifyNotYetSharded(fragment)))
        return signalPassFailure();

      Block &body = fragment.getRegion().front();
      if (manualComputations)
        numManual += splitManualComputations(body, cut.lateResults, rewriter);
      Operation *terminator = body.getTerminator();
      SmallVector<Value> transferred;
      for (auto [i, value] : llvm::enumerate(terminator->getOperands()))
        if (!cut.lateResults.test(i))
          transferred.push_back(value);
      addDependencies(std::move(transferred), cut.earlyOps);
      keepEffectOrder(body, cut.earlyOps);
      if (splitFragment(fragment, cut, rewriter))
        ++numFragments;
    }
  }
};
} // namespace
