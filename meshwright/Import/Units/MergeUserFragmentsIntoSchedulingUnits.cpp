//===- MergeUserFragmentsIntoSchedulingUnits.cpp --------------------------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// A schedule orders units: per mesh and microbatch, one forward and one
// backward fragment. The user's named computations are usually smaller, so
// those of one microbatch and one direction are merged along the dataflow:
//
//   %0 = fragment<"m", ["f"]> (%x) {call_counter = 1}
//   %1 = fragment<"m", ["g"]> (%0) {call_counter = 1}
//   // becomes
//   %0 = fragment<"m", ["f", "g"]> (%x) {call_counter = 1}
//
//===----------------------------------------------------------------------===//

#include "meshwright/Dialect/Mpmd/Fragments.h"
#include "meshwright/Fragments/Merge/MergeDriver.h"
#include "llvm/ADT/DenseSet.h"

#define GEN_PASS_DEF_MERGEUSERFRAGMENTSINTOSCHEDULINGUNITSPASS
#include "meshwright/Import/Units/Passes.h"

using namespace mlir;
using namespace mlir::mpmd;

static bool haveSameCallCounter(FragmentOp a, FragmentOp b) {
  std::optional<uint32_t> ofA = getCallCounter(a), ofB = getCallCounter(b);
  return !ofA || !ofB || *ofA == *ofB;
}

namespace {
struct MergeUserFragmentsIntoSchedulingUnitsPass
    : mpmd::impl::MergeUserFragmentsIntoSchedulingUnitsPassBase<
          MergeUserFragmentsIntoSchedulingUnitsPass> {
  void runOnFunction(func::FuncOp func) override {
    // Reported once each; a fragment with an error is never merged.
    DenseSet<Operation *> reported;
    auto getTransposeCount = [&](FragmentOp fragment) {
      std::optional<int64_t> count = getSingleTransposeCount(fragment);
      if (!count && reported.insert(fragment).second)
        fragment.emitError()
            << "user fragment mixes computations of several transpose counts, "
               "its origin is "
            << fragment.getOriginAttr()
            << "; a scheduling unit needs a single one, so merge forward with "
               "backward fragments after scheduling only";
      return count;
    };
    auto mayMerge = [&](FragmentOp fragment, FragmentOp consumer) {
      if (!isUserFragment(fragment) || !isUserFragment(consumer))
        return false;
      std::optional<int64_t> count = getTransposeCount(fragment);
      std::optional<int64_t> ofConsumer = getTransposeCount(consumer);
      return count && count == ofConsumer &&
             haveSameCallCounter(fragment, consumer) &&
             hasConsistentStages(fragment, consumer);
    };
    FailureOr<unsigned> count =
        mergeFragmentsIn(func, MergePartner::ClosestConsumer, mayMerge);
    if (failed(count) || !reported.empty())
      return signalPassFailure();
    numMerged += *count;
  }
};
} // namespace
