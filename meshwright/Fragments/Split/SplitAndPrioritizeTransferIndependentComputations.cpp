//===- SplitAndPrioritizeTransferIndependentComputations.cpp --------------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// A fragment waits for all its operands, also for those still on their way from
// another mesh. Split in two, what does not depend on any transfer starts at
// once, while the data travels. An op belongs to the second half if something
// it reads comes, directly or not, out of a transfer.
//
//===----------------------------------------------------------------------===//

#include "meshwright/Dialect/Mpmd/Effects.h"
#include "meshwright/Fragments/Split/SplitFragment.h"
#include "meshwright/IR/OutsideReads.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"

#define GEN_PASS_DEF_SPLITANDPRIORITIZETRANSFERINDEPENDENTCOMPUTATIONSPASS
#include "meshwright/Fragments/Split/Passes.h"

using namespace mlir;
using namespace mlir::mpmd;

/// Whether `op` must wait, given the transferred arguments and the ops found to
/// wait so far. An op that only captures a transferred argument in a region is
/// early: the early half has the argument too.
static bool mustWait(Operation *op, const DenseSet<Value> &transferred,
                     const DenseSet<Operation *> &waiting) {
  auto waits = [&](Value value) {
    return waiting.contains(value.getDefiningOp());
  };
  return llvm::any_of(op->getOperands(),
                      [&](Value v) { return transferred.contains(v); }) ||
         llvm::any_of(getOutsideReads(op), waits);
}

/// Whether each of the values from `transferred` on is needed for the results;
/// fills in both parts of the cut.
static FragmentCut findCut(FragmentOp fragment,
                           const DenseSet<Value> &transferred) {
  Block &body = fragment.getRegion().front();
  FragmentCut cut;
  DenseSet<Operation *> waiting;
  bool effectWaits = false;
  for (Operation &op : body.without_terminator()) {
    bool acts = hasEffects(&op);
    bool waits = mustWait(&op, transferred, waiting) || (acts && effectWaits);
    (waits ? waiting : cut.earlyOps).insert(&op);
    effectWaits |= acts && waits;
  }

  cut.lateResults.resize(fragment->getNumResults());
  for (auto [i, value] : llvm::enumerate(body.getTerminator()->getOperands()))
    if (transferred.contains(value) || waiting.contains(value.getDefiningOp()))
      cut.lateResults.set(i);
  return cut;
}

/// The arguments of `fragment` whose operands come out of a transfer.
static DenseSet<Value> findTransferredArguments(FragmentOp fragment) {
  DenseSet<Value> transferred;
  for (auto [operand, argument] :
       llvm::zip(fragment->getOperands(), fragment.getRegion().getArguments()))
    if (operand.getDefiningOp<TransferOp>())
      transferred.insert(argument);
  return transferred;
}

namespace {
struct SplitAndPrioritizeTransferIndependentComputationsPass
    : mpmd::impl::SplitAndPrioritizeTransferIndependentComputationsPassBase<
          SplitAndPrioritizeTransferIndependentComputationsPass> {
  void runOnOperation() override {
    func::FuncOp func = getOperation();
    if (func.isDeclaration())
      return markAllAnalysesPreserved();

    IRRewriter rewriter(&getContext());
    // The early increment passes over both halves, which replace the fragment.
    for (FragmentOp fragment :
         llvm::make_early_inc_range(func.getOps<FragmentOp>())) {
      if (isSplitFragment(fragment))
        continue;
      DenseSet<Value> transferred = findTransferredArguments(fragment);
      if (transferred.empty() ||
          transferred.size() == fragment->getNumOperands())
        continue;
      FragmentCut cut = findCut(fragment, transferred);
      if (cut.earlyOps.empty() && cut.lateResults.all())
        continue;
      if (failed(verifyNotYetSharded(fragment)))
        return signalPassFailure();
      if (splitFragment(fragment, cut, rewriter))
        ++numFragments;
    }
  }
};
} // namespace
