//===- PipelineScheduler.cpp - Orders fragments by a schedule -------------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// A schedule says of two scheduling units on one mesh which runs first:
//
//   F0 B0 F1 B1   with GPipe becomes   F0 F1 B0 B1
//
// By definition each pair that data flow leaves open is asked, in the order of
// the program, the answer becomes an edge, and the edges so far count as data
// flow: where two answers contradict each other the first one stands. Then the
// block is sorted.
//
// Mostly, nothing contradicts. If all that the schedule demands forms no cycle
// with the data flow, each demand is carried out, and the sorted block only
// depends on what the demands imply together. So the few groups that imply
// them all are handed to the sort, which is linear. If it finds a cycle, the
// pairs that data flow alone orders the other way are dropped: they would not
// have been carried out in any case. Only if demands still contradict each
// other, or if later passes need the edges in the IR, are pairs asked.
//
//===----------------------------------------------------------------------===//

#include "meshwright/Common/BlockSort.h"
#include "meshwright/Common/ControlDependencies.h"
#include "meshwright/Dialect/Mpmd/Fragments.h"
#include "meshwright/Dialect/Mpmd/Functions.h"
#include "meshwright/Optimize/BlockDependencies.h"
#include "meshwright/Optimize/ConsistentDemands.h"
#include "meshwright/Optimize/Passes.h"
#include "meshwright/Optimize/PlanDemands.h"
#include "meshwright/Optimize/SchedulingUnits.h"
#include "llvm/ADT/SmallVectorExtras.h"

namespace mlir::mpmd {
#define GEN_PASS_DEF_PIPELINESCHEDULERPASS
#include "meshwright/Optimize/Passes.h.inc"
} // namespace mlir::mpmd

using namespace mlir;
using namespace mlir::mpmd;
using meshwright::Demands;
using meshwright::Schedule;

using OrderedMeshes = std::vector<OrderedMesh>;

static FailureOr<OrderedMeshes> getDemands(func::FuncOp func,
                                           const ScheduleOption &option) {
  SmallVector<MeshUnits> meshes = collectUnits(func);
  const Schedule *schedule = option.schedule;
  if (!schedule || !schedule->isSameOnAllMeshes)
    llvm::erase_if(meshes,
                   [](const MeshUnits &mesh) { return !mesh.isInPipeline(); });
  SmallVector<Demands> demands;
  if (schedule && schedule->getDemands) {
    demands = llvm::map_to_vector(meshes, [&](const MeshUnits &mesh) {
      return schedule->getDemands(mesh.mesh);
    });
  } else {
    FailureOr<SmallVector<Demands>> ofPlan =
        getPlanDemands(func, option, meshes);
    if (failed(ofPlan))
      return failure();
    demands = std::move(*ofPlan);
  }
  OrderedMeshes ordered;
  for (auto [mesh, ofMesh] : llvm::zip(meshes, demands))
    ordered.push_back({std::move(mesh), std::move(ofMesh)});
  return ordered;
}

namespace {
/// Asks pair by pair, as the definition has it.
class PairwiseScheduler {
public:
  PairwiseScheduler(Block &block, const ScheduleOption &option,
                    ArrayRef<OrderedMesh> meshes)
      : option(option), meshes(meshes), graph(block) {}

  /// Reports a pair that the schedule cannot order.
  LogicalResult run();

  using Edge = std::pair<FragmentOp, FragmentOp>;
  ArrayRef<Edge> getEdges() const { return edges; }
  /// By data flow or by earlier edges.
  const DemandConflicts &getConflicts() const { return conflicts; }

private:
  LogicalResult orderUnit(const OrderedMesh &mesh, unsigned index);

  const ScheduleOption &option;
  ArrayRef<OrderedMesh> meshes;
  BlockDependencies graph;
  SmallVector<Edge> edges;
  DemandConflicts conflicts;
};
} // namespace

static LogicalResult reportProblem(const Schedule &schedule, FragmentOp first,
                                   FragmentOp second, StringRef problem) {
  InFlightDiagnostic diag = first.emitError()
                            << "schedule " << schedule.name << " " << problem;
  diag.attachNote(second.getLoc()) << "cannot be ordered with this fragment";
  return diag;
}

/// Compares one unit with all others of its mesh, in program order.
LogicalResult PairwiseScheduler::orderUnit(const OrderedMesh &mesh,
                                           unsigned index) {
  const MeshUnits &units = mesh.units;
  FragmentOp fragment = units.fragments[index];
  unsigned position = graph.getPosition(fragment);
  Schedule::Problem findProblem =
      option.schedule ? option.schedule->findProblem : nullptr;
  // Those before the unit run first if data flow says so. Edges out of the unit
  // lead to nothing that has a path to it, so they do not change these.
  std::optional<llvm::BitVector> ancestors;
  ForwardPaths paths(graph, position);
  for (auto [other, otherItem] : llvm::zip(units.fragments, units.items)) {
    unsigned otherPosition = graph.getPosition(other);
    bool isDemanded = mesh.demands.mustPrecede(units.items[index], otherItem);
    if (otherPosition == position || (!isDemanded && !findProblem))
      continue;
    if (otherPosition > position) {
      if (paths.reaches(otherPosition))
        continue;
    } else {
      if (!ancestors)
        ancestors = graph.findAncestors(position);
      if (ancestors->test(otherPosition)) {
        if (isDemanded && conflicts.count++ == 0) {
          conflicts.first = fragment;
          conflicts.second = other;
        }
        continue;
      }
    }
    if (findProblem)
      if (std::optional<std::string> problem =
              findProblem(units.items[index], otherItem, units.mesh))
        return reportProblem(*option.schedule, fragment, other, *problem);
    if (!isDemanded)
      continue;
    paths.addEdge(otherPosition);
    edges.emplace_back(fragment, other);
  }
  return success();
}

LogicalResult PairwiseScheduler::run() {
  // Units of all meshes by position.
  SmallVector<std::pair<const OrderedMesh *, unsigned>> units(
      graph.getPositionCount());
  for (const OrderedMesh &mesh : meshes)
    for (auto [index, fragment] : llvm::enumerate(mesh.units.fragments))
      units[graph.getPosition(fragment)] = {&mesh, index};
  for (auto [mesh, index] : units)
    if (mesh && failed(orderUnit(*mesh, index)))
      return failure();
  return success();
}

/// Whether the schedule cannot order some pair, if nothing else does.
static bool hasProblem(const ScheduleOption &option,
                       ArrayRef<OrderedMesh> meshes) {
  if (!option.schedule || !option.schedule->findProblem)
    return false;
  for (const OrderedMesh &mesh : meshes)
    for (const meshwright::WorkItem &first : mesh.units.items)
      for (const meshwright::WorkItem &second : mesh.units.items)
        if (&first != &second &&
            option.schedule->findProblem(first, second, mesh.units.mesh))
          return true;
  return false;
}

/// The relations that order weight gradients also run without any.
static void reportMissingSplit(func::FuncOp func, const ScheduleOption &option,
                               ArrayRef<OrderedMesh> meshes) {
  if (!option.schedule || !option.schedule->splitsBackward ||
      !option.schedule->getDemands)
    return;
  bool isAnyBackward = false;
  for (const OrderedMesh &mesh : meshes)
    for (const meshwright::WorkItem &item : mesh.units.items) {
      if (item.kind == meshwright::WorkKind::Weight)
        return;
      isAnyBackward |= item.kind == meshwright::WorkKind::Backward;
    }
  if (isAnyBackward)
    func.emitWarning()
        << "schedule " << option.getName()
        << " fills bubbles with the gradients of weights, but no backward "
           "fragment is split; split them (mpmd-split-bwd-fragments, option "
           "mpmd_split_bwd_fragments)";
}

namespace {
struct PipelineSchedulerPass
    : mpmd::impl::PipelineSchedulerPassBase<PipelineSchedulerPass> {
  using Base::Base;

  void runOnOperation() override {
    func::FuncOp func = getOperation();
    if (func.isDeclaration() || !isMpmdFunction(func))
      return markAllAnalysesPreserved();

    const ScheduleOption &option = mustHappenBefore.getValue();
    FailureOr<OrderedMeshes> meshes = getDemands(func, option);
    if (failed(meshes))
      return signalPassFailure();
    if (reportMisfits)
      reportMissingSplit(func, option, *meshes);
    if (removeDependencies && !hasProblem(option, *meshes) &&
        orderByGroups(func.front(), *meshes))
      return;
    if (failed(orderPairwise(func, *meshes)))
      signalPassFailure();
  }

private:
  bool orderByGroups(Block &block, ArrayRef<OrderedMesh> meshes);
  LogicalResult orderPairwise(func::FuncOp func, ArrayRef<OrderedMesh> meshes);
};
} // namespace

/// Relations leave room for data flow; a plan leaves none, so its user should
/// know.
static void reportConflicts(const DemandConflicts &conflicts,
                            const ScheduleOption &option, bool reportMisfits) {
  bool isRelation = option.schedule && option.schedule->getDemands;
  if (conflicts.count == 0 || (isRelation && !reportMisfits))
    return;
  InFlightDiagnostic diag =
      FragmentOp(conflicts.first).emitWarning()
      << "runs before another fragment by schedule " << option.getName()
      << ", but needs its results; data flow wins, here and in "
      << conflicts.count - 1 << " other pairs";
  diag.attachNote(FragmentOp(conflicts.second).getLoc())
      << "this is the other fragment; microbatches may depend on each other "
         "by what was merged into them before scheduling";
}

/// Returns false, with the block as it was, if demands contradict each other.
bool PipelineSchedulerPass::orderByGroups(Block &block,
                                          ArrayRef<OrderedMesh> meshes) {
  if (sortBlockTopologically(block, getGroups(meshes)))
    return true;
  DemandConflicts conflicts;
  BlockDependencies graph(block);
  if (!sortBlockTopologically(block,
                              getConsistentGroups(graph, meshes, conflicts)))
    return false;
  reportConflicts(conflicts, mustHappenBefore.getValue(), reportMisfits);
  return true;
}

LogicalResult
PipelineSchedulerPass::orderPairwise(func::FuncOp func,
                                     ArrayRef<OrderedMesh> meshes) {
  PairwiseScheduler scheduler(func.front(), mustHappenBefore.getValue(),
                              meshes);
  if (failed(scheduler.run()))
    return failure();
  reportConflicts(scheduler.getConflicts(), mustHappenBefore.getValue(),
                  reportMisfits);
  if (removeDependencies) {
    auto groups =
        llvm::map_to_vector(scheduler.getEdges(), [](const auto &edge) {
          return OrderGroup{{edge.first}, {edge.second}};
        });
    sortBlockTopologically(func.front(), groups);
    return success();
  }
  for (auto [first, second] : scheduler.getEdges())
    if (first->getNumResults() == 0)
      return first.emitError() << "is scheduled before another fragment, but "
                                  "has no result by which that could wait";
  for (auto [first, second] : scheduler.getEdges())
    addControlDependency(first, second);
  sortBlockTopologically(func.front());
  return success();
}
