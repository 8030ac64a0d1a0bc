//===- MergeInferredFragments.cpp -----------------------------------------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// Fragments that the compiler inferred hold little work, yet each would be a
// program of its own. They are merged with their neighbours, user fragments or
// other inferred ones:
//
//   %0 = fragment<"m", []> (%x) {negate}
//   %1 = fragment<"m", ["f"]> (%0, %y) {add}
//   // becomes
//   %0 = fragment<"m", ["f"]> (%x, %y) {negate; add}
//
// The pass only says which pairs may merge; the merge driver does the rest.
//
//===----------------------------------------------------------------------===//

#include "meshwright/Common/MergeDriver.h"
#include "meshwright/Common/Passes.h"
#include "meshwright/Dialect/Mpmd/Fragments.h"
#include "meshwright/Dialect/Mpmd/Functions.h"

namespace mlir::mpmd {
#define GEN_PASS_DEF_MERGEINFERREDFRAGMENTSPASS
#include "meshwright/Common/Passes.h.inc"
} // namespace mlir::mpmd

using namespace mlir;
using namespace mlir::mpmd;

static bool mayMerge(FragmentOp fragment, FragmentOp partner) {
  if (isUserFragment(fragment) && isUserFragment(partner))
    return false;
  // The two halves of a split fragment stay apart.
  return !fragment->hasAttr(kSplitKeepTransferredAttr) ||
         !partner->hasAttr(kSplitDropTransferredAttr);
}

namespace {
struct MergeInferredFragmentsPass
    : mpmd::impl::MergeInferredFragmentsPassBase<MergeInferredFragmentsPass> {
  using Base::Base;

  void runOnOperation() override {
    func::FuncOp func = getOperation();
    if (!isDistributedFunction(func))
      return markAllAnalysesPreserved();
    if (mergeAnyConsumer && mergeSideways) {
      func.emitError() << "merge-any-consumer and merge-sideways exclude each "
                          "other; run the pass twice, once with each";
      return signalPassFailure();
    }
    MergePartner partner = mergeSideways      ? MergePartner::NextOnMesh
                           : mergeAnyConsumer ? MergePartner::AnyConsumer
                                              : MergePartner::ClosestConsumer;
    if (failed(mergeFragmentsIn(func, partner, mayMerge)))
      signalPassFailure();
  }
};
} // namespace
