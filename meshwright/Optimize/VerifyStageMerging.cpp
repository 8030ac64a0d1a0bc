//===- VerifyStageMerging.cpp - One fragment per stage and microbatch -----===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// Computations that the user assigned to one stage must have become one
// fragment, for each direction and microbatch. If two are left, merging failed,
// usually because a dependency over another mesh lies between them.
//
// Two fragments without a call counter, or one with and one without, claim the
// same stage too, so the relation is no equivalence and no plain set can find
// clashes. Per key of the other properties it is enough to remember the
// counters seen and whether one was missing.
//
//===----------------------------------------------------------------------===//

#include "meshwright/Dialect/Mpmd/Fragments.h"
#include "meshwright/Dialect/Mpmd/MpmdDialect.h"
#include "meshwright/Fragments/FragmentInfo.h"
#include "meshwright/Fragments/FragmentWalk.h"
#include "meshwright/Text/DiagnosticId.h"
#include <map>
#include <set>
#include <tuple>

#define GEN_PASS_DEF_VERIFYSTAGEMERGINGPASS
#include "meshwright/Optimize/Passes.h"

using namespace mlir;
using namespace mlir::mpmd;

namespace {
/// What two fragments must have in common to clash, besides the call counter.
struct StageClaim {
  StringRef meshName;
  int64_t stage;
  int64_t transposeCount;
  StringRef splitType;
  bool isRemat;

  bool operator<(const StageClaim &other) const {
    return std::tie(meshName, stage, transposeCount, splitType, isRemat) <
           std::tie(other.meshName, other.stage, other.transposeCount,
                    other.splitType, other.isRemat);
  }
};

/// The call counters of the fragments that make one claim.
class Claimants {
public:
  /// Returns false, and records nothing, if a fragment with `counter` clashes
  /// with a recorded one.
  bool record(std::optional<uint32_t> counter) {
    if (withoutCounter || (!counter && !counters.empty()))
      return false;
    if (counter)
      return counters.insert(*counter).second;
    withoutCounter = true;
    return true;
  }

private:
  std::set<uint32_t> counters;
  bool withoutCounter = false;
};
} // namespace

static StringRef getSplitTypeName(FragmentOp fragment) {
  if (fragment->hasAttr(kSplitKeepTransferredAttr))
    return "kKeepTransferred";
  if (fragment->hasAttr(kSplitDropTransferredAttr))
    return "kDropTransferred";
  return "nullopt";
}

/// Whether it recomputes a forward fragment for a half of a backward one, which it
/// may have been merged with: that leaves no mark of the half.
static bool isRematForHalf(FragmentOp fragment) {
  if (!fragment->hasAttr(kRematAttr))
    return false;
  bool isMerged =
      !getSingleTransposeCount(fragment) && getMaxTransposeCount(fragment);
  return isMerged || llvm::any_of(fragment->getUsers(), [](Operation *user) {
           return user->hasAttr(kSplitKeepTransferredAttr) ||
                  user->hasAttr(kSplitDropTransferredAttr);
         });
}

static meshwright::DiagnosticArguments
describeClash(FragmentOp fragment, const StageClaim &claim,
              std::optional<uint32_t> counter) {
  meshwright::DiagnosticArguments arguments = {
      {"mesh", claim.meshName.str()}, {"stage", std::to_string(claim.stage)}};
  if (counter)
    arguments.emplace_back("call_counter", std::to_string(*counter));
  for (auto origin : fragment.getOriginAttr().getAsRange<UserOriginAttr>())
    arguments.emplace_back(origin.getTransposeCount() ? "transposed_origin"
                                                      : "origin",
                           origin.getUserName().str());
  return arguments;
}

static void reportClash(FragmentOp fragment, const StageClaim &claim,
                        std::optional<uint32_t> counter) {
  InFlightDiagnostic diag =
      fragment.emitError()
      << "fragments with a stage must be unique in mesh, stage, transpose "
         "count, call counter, split type and remat; an earlier fragment "
         "clashes with [mesh="
      << claim.meshName << ", stage_id=" << claim.stage
      << ", transpose_count=" << claim.transposeCount << ", call_count=";
  if (counter)
    diag << *counter;
  else
    diag << -1;
  diag << ", split_type=" << claim.splitType
       << ", is_remat=" << unsigned(claim.isRemat) << "] of "
       << fragment.getOriginAttr();
  if (isRematForHalf(fragment))
    diag << "; it would be recomputed for each half of its backward fragment, "
            "which is split: leave out mpmd_fragment_remat, or take a schedule "
            "that does not split backwards, such as 1F1B, without "
            "mpmd_split_bwd_fragments";
  else
    meshwright::identify(*diag.getUnderlyingDiagnostic(), "not_unique",
                         describeClash(fragment, claim, counter));
}

namespace {
struct VerifyStageMergingPass
    : mpmd::impl::VerifyStageMergingPassBase<VerifyStageMergingPass> {
  void runOnFunction(func::FuncOp func) override {
    markAllAnalysesPreserved();
    std::map<StageClaim, Claimants> claims;
    walkOutsideFragments<FragmentOp>(func, [&](FragmentOp fragment) {
      IntegerAttr stage = fragment.getStageIdAttr();
      if (!stage)
        return;
      std::optional<int64_t> count = getStageTransposeCount(fragment);
      if (!count) {
        fragment.emitError()
            << "fragment of stage " << stage.getInt()
            << " has no single transpose count, its origin is "
            << fragment.getOriginAttr()
            << "; a stage is for user computations of one transpose count";
        return signalPassFailure();
      }
      StageClaim claim{fragment.getMeshName(), stage.getInt(), *count,
                       getSplitTypeName(fragment),
                       fragment->hasAttr(kRematAttr)};
      std::optional<uint32_t> counter = getCallCounter(fragment);
      if (claims[claim].record(counter))
        return;
      reportClash(fragment, claim, counter);
      signalPassFailure();
    });
  }
};
} // namespace
