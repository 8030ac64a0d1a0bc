//===- ScheduleWarnings.cpp - What a schedule makes of a program ----------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

#include "meshwright/Optimize/Scheduler/ScheduleWarnings.h"
#include "meshwright/Dialect/Mpmd/Fragments.h"
#include "meshwright/Fragments/Split/SplitFragment.h"
#include "meshwright/Text/DiagnosticId.h"
#include "llvm/ADT/STLExtras.h"
#include <algorithm>
#include <tuple>

using namespace mlir;
using namespace mlir::mpmd;
using meshwright::WorkItem;
using meshwright::WorkKind;

std::string mpmd::describeUnit(FragmentOp fragment) {
  std::string text;
  llvm::raw_string_ostream os(text);
  os << (isForwardFragment(fragment) ? "forward of " : "backward of ");
  if (IntegerAttr stage = fragment.getStageIdAttr())
    os << "stage " << stage.getInt();
  else
    llvm::interleaveComma(
        fragment.getOrigin().getAsRange<UserOriginAttr>(), os,
        [&](UserOriginAttr origin) { os << origin.getUserName(); });
  if (std::optional<uint32_t> counter = getCallCounter(fragment))
    os << " of microbatch " << *counter;
  return text;
}

/// Whether one needs the other by the sum of the gradients of their stage:
/// between its microbatches backward it is nearly always that.
static bool isSum(const WorkItem &first, const WorkItem &second) {
  return first.kind != WorkKind::Forward && second.kind != WorkKind::Forward &&
         first.stage == second.stage && first.microbatch != second.microbatch;
}

/// What to change if `first`, which is to come first, needs `second`.
static std::string findRemedy(const WorkItem &first, const WorkItem &second) {
  if (!isSum(first, second))
    return "";
  std::string text = "; here it is likely the sum of the gradients, which the "
                     "program takes from the ";
  text += second.microbatch < first.microbatch
              ? "first microbatch to the last: sum from the last to the first, "
                "as the schedule runs them"
              : "last microbatch to the first, as jax.grad around all calls "
                "does: take the gradient inside of each call, and sum from the "
                "first to the last";
  return text + ", or keep the sum apart until the fragments are scheduled "
                "(option mpmd_merge_inferred_after_scheduling)";
}

/// A forward fragment of a later stage, of the same microbatch, whose result a
/// forward fragment reads; null if there is none.
static FragmentOp findLaterStage(FragmentOp reader) {
  IntegerAttr stage = reader.getStageIdAttr();
  if (!stage || !isForwardFragment(reader))
    return {};
  for (Value operand : reader.getOperands()) {
    while (auto transfer = operand.getDefiningOp<TransferOp>())
      operand = transfer.getTensor();
    auto maker = operand.getDefiningOp<FragmentOp>();
    if (maker && maker.getStageIdAttr() && isForwardFragment(maker) &&
        maker.getStageIdAttr().getInt() > stage.getInt() &&
        getCallCounter(maker) == getCallCounter(reader))
      return maker;
  }
  return {};
}

/// Names the first stage that reads a result of a later one, if any does.
static void noteStagesOutOfOrder(InFlightDiagnostic &diag, Block &block) {
  for (auto reader : block.getOps<FragmentOp>())
    if (FragmentOp maker = findLaterStage(reader)) {
      diag.attachNote(reader.getLoc())
          << "stage " << reader.getStageIdAttr().getInt()
          << " reads what stage " << maker.getStageIdAttr().getInt()
          << ", a later one, gives; number stages in the order in which "
             "values go through them";
      return;
    }
}

FailureOr<MicrobatchPasses> mpmd::parseMicrobatchPasses(StringRef text) {
  MicrobatchPasses passes;
  if (text.empty())
    return passes;
  do {
    auto &[first, last] = passes.emplace_back();
    if (text.consumeInteger(10, first) || !text.consume_front("-") ||
        text.consumeInteger(10, last) || first < 0 || last < first)
      return failure();
  } while (text.consume_front(","));
  if (!text.empty())
    return failure();
  return passes;
}

/// Whether two microbatches are of different passes, which data flow orders.
static bool areOfDifferentPasses(int64_t microbatch, int64_t other,
                                 const MicrobatchPasses &passes) {
  return !passes.empty() &&
         llvm::none_of(passes, [&](const std::pair<int64_t, int64_t> &pass) {
           return pass.first <= std::min(microbatch, other) &&
                  std::max(microbatch, other) <= pass.second;
         });
}

namespace {
/// Of conflicts of one kind, how many there are and the first pair.
struct Conflicts {
  void add(unsigned before, unsigned after) {
    ++count;
    std::tie(first, second) =
        std::min(std::tuple(first, second), std::tuple(before, after));
  }
  void add(const Conflicts &others) {
    add(others.first, others.second);
    count += others.count - 1;
  }

  uint64_t count = 0;
  /// `first` is to come before `second`, but needs it.
  unsigned first = kNone, second = kNone;
};
} // namespace

static void warnOf(const Conflicts &conflicts, const UnitConstraints &units,
                   const ScheduleOption &option) {
  FragmentOp first = units.getFragment(conflicts.first);
  FragmentOp second = units.getFragment(conflicts.second);
  InFlightDiagnostic diag = first.emitWarning()
                            << describeUnit(first)
                            << " runs before another fragment by schedule "
                            << option.getName();
  // A program without a schedule has it, too.
  if (option == getFrontDefaultSchedule())
    diag << ", the default";
  diag << ", but needs its results; data flow wins";
  if (uint64_t others = conflicts.count - 1)
    diag << ", here and in " << others << " other pair"
         << (others == 1 ? "" : "s");
  diag << findRemedy(units.getItem(conflicts.first),
                     units.getItem(conflicts.second));
  diag.attachNote(second.getLoc())
      << "this is the other fragment; microbatches may depend on each other by "
         "what was merged into them before scheduling ("
      << describeUnit(second) << ")";
  // Only there a pipeline may begin at any stage.
  if (option.getName() != "ParallelPipelinesWithWrapAround")
    noteStagesOutOfOrder(diag, *first->getBlock());
  meshwright::identify(
      *diag.getUnderlyingDiagnostic(), "schedule_conflict",
      {{"first", std::to_string(units.getItem(conflicts.first).microbatch)},
       {"second", std::to_string(units.getItem(conflicts.second).microbatch)}});
}

/// Whether each stage that runs several microbatches backward adds up their
/// gradients in the other order. Under GPipe, where all backward work is after
/// all forward work, that takes as long and as much memory; a stage that kept
/// the schedule's order would wait for all others.
static bool
areAlikeInAllStages(const llvm::DenseMap<int64_t, uint64_t> &sumsOfStages,
                    const UnitConstraints &units) {
  llvm::SmallDenseSet<uint64_t> counts;
  for (auto [stage, count] : sumsOfStages)
    counts.insert(count);
  llvm::DenseMap<int64_t, int64_t> microbatches;
  for (unsigned unit : llvm::seq(units.getUnits().size())) {
    const WorkItem &item = units.getItem(unit);
    if (item.kind != WorkKind::Backward || !item.stage)
      continue;
    int64_t first =
        microbatches.try_emplace(*item.stage, item.microbatch).first->second;
    if (first != item.microbatch && !sumsOfStages.contains(*item.stage))
      return false;
  }
  return counts.size() == 1;
}

void mpmd::warnOfConflicts(const ConsistentOrder &order,
                           const UnitConstraints &units,
                           const ScheduleOption &option,
                           const MicrobatchPasses &passes) {
  Conflicts inMicrobatch, between, sums;
  llvm::DenseMap<int64_t, uint64_t> sumsOfStages;
  bool isGPipe = option.getName() == "GPipe";
  forEachConflict(units, order, [&](unsigned first, unsigned second) {
    const WorkItem &item = units.getItem(first), &other = units.getItem(second);
    if (item.microbatch == other.microbatch) {
      inMicrobatch.add(first, second);
      return;
    }
    if (areOfDifferentPasses(item.microbatch, other.microbatch, passes))
      return;
    if (isGPipe && item.stage && item.kind == WorkKind::Backward &&
        other.kind == WorkKind::Backward && isSum(item, other)) {
      sums.add(first, second);
      ++sumsOfStages[*item.stage];
    } else {
      between.add(first, second);
    }
  });
  if (sums.count > 0 && !areAlikeInAllStages(sumsOfStages, units))
    between.add(sums);
  for (const Conflicts &conflicts : {between, inMicrobatch})
    if (conflicts.count > 0)
      warnOf(conflicts, units, option);
}

void mpmd::warnOfMissingSplit(func::FuncOp func, const ScheduleOption &option,
                              ArrayRef<OrderedMesh> meshes) {
  if (!option.schedule || !option.schedule->splitsBackward ||
      !option.schedule->getConstraints)
    return;
  bool isAnyWhole = false;
  for (const OrderedMesh &mesh : meshes)
    for (auto [fragment, item] :
         llvm::zip(mesh.units.fragments, mesh.units.items)) {
      if (item.kind == WorkKind::Weight)
        return;
      isAnyWhole |= item.kind == WorkKind::Backward && hasTwoHalves(fragment);
    }
  if (isAnyWhole)
    func.emitWarning()
        << "schedule " << option.getName()
        << " fills bubbles with the gradients of weights, but no backward "
           "fragment is split; split them (mpmd-split-bwd-fragments, option "
           "mpmd_split_bwd_fragments)";
}
