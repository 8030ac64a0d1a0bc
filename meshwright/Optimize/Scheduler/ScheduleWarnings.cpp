//===- ScheduleWarnings.cpp - What a schedule makes of a program ----------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

#include "meshwright/Optimize/Scheduler/ScheduleWarnings.h"
#include "meshwright/Dialect/Mpmd/Fragments.h"
#include "meshwright/Fragments/Split/SplitFragment.h"
#include "meshwright/Text/DiagnosticId.h"
#include "llvm/ADT/STLExtras.h"

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

/// What to change if `first`, which is to come first, needs `second`. Between
/// microbatches of one stage it is nearly always the sum of their gradients.
static std::string findRemedy(const WorkItem &first, const WorkItem &second) {
  bool isSum =
      first.kind != WorkKind::Forward && second.kind != WorkKind::Forward &&
      first.stage == second.stage && first.microbatch != second.microbatch;
  if (!isSum)
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

void mpmd::warnOfConflicts(const ConstraintConflicts &conflicts,
                           const UnitConstraints &units,
                           const ScheduleOption &option) {
  auto getMesh = [&](unsigned unit) -> const MeshUnits & {
    return units.getMesh(units.getUnits()[unit].mesh).units;
  };
  auto getFragment = [&](unsigned unit) -> FragmentOp {
    return getMesh(unit).fragments[units.getUnits()[unit].index];
  };
  auto getItem = [&](unsigned unit) -> const WorkItem & {
    return getMesh(unit).items[units.getUnits()[unit].index];
  };
  FragmentOp first = getFragment(conflicts.first);
  FragmentOp second = getFragment(conflicts.second);
  InFlightDiagnostic diag = first.emitWarning()
                            << describeUnit(first)
                            << " runs before another fragment by schedule "
                            << option.getName()
                            << ", but needs its results; data flow wins";
  if (uint64_t others = conflicts.count - 1)
    diag << ", here and in " << others << " other pair"
         << (others == 1 ? "" : "s");
  diag << findRemedy(getItem(conflicts.first), getItem(conflicts.second));
  diag.attachNote(second.getLoc())
      << "this is the other fragment; microbatches may depend on each other by "
         "what was merged into them before scheduling ("
      << describeUnit(second) << ")";
  // Only there a pipeline may begin at any stage.
  if (option.getName() != "ParallelPipelinesWithWrapAround")
    noteStagesOutOfOrder(diag, *first->getBlock());
  meshwright::identify(
      *diag.getUnderlyingDiagnostic(), "schedule_conflict",
      {{"first", std::to_string(getItem(conflicts.first).microbatch)},
       {"second", std::to_string(getItem(conflicts.second).microbatch)}});
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
