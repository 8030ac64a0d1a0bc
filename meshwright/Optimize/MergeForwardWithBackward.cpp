//===- MergeForwardWithBackward.cpp ---------------------------------------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// On the last stage of a pipeline the backward computation of a microbatch
// follows its forward computation at once. One program can then run both:
//
//   %0 = fragment<"m", ["f"]> (%x) {exponential}
//   %1 = fragment<"m", ["f"(1)]> (%0) {log}
//   // becomes
//   %0 = fragment<"m", ["f", "f"(1)]> (%x) {exponential; log}
//
//===----------------------------------------------------------------------===//

#include "meshwright/Dialect/Mpmd/Fragments.h"
#include "meshwright/Fragments/Merge/MergeDriver.h"

#define GEN_PASS_DEF_MERGEFORWARDWITHBACKWARDPASS
#include "meshwright/Optimize/Passes.h"

using namespace mlir;
using namespace mlir::mpmd;

static bool mayMerge(FragmentOp fragment, FragmentOp consumer) {
  return isForwardFragment(fragment) && isBackwardFragment(consumer) &&
         isExecutedImmediatelyAfter(fragment, consumer);
}

namespace {
struct MergeForwardWithBackwardPass
    : mpmd::impl::MergeForwardWithBackwardPassBase<
          MergeForwardWithBackwardPass> {
  void runOnFunction(func::FuncOp func) override {
    FailureOr<unsigned> count =
        mergeFragmentsIn(func, MergePartner::ClosestConsumer, mayMerge);
    if (failed(count))
      return signalPassFailure();
    numMerged += *count;
  }
};
} // namespace
