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
// them all are handed to the sort, which is linear. If it finds a cycle, what
// stands is found unit by unit (ConsistentOrder), and again a few edges imply
// it. Only if later passes need the edges in the IR is each pair looked at.
//
//===----------------------------------------------------------------------===//

#include "meshwright/Common/ControlDependencies.h"
#include "meshwright/Dialect/Mpmd/Fragments.h"
#include "meshwright/Dialect/Mpmd/Functions.h"
#include "meshwright/Optimize/OpenPairs.h"
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

static FailureOr<OrderedMeshes> getOrderedMeshes(func::FuncOp func,
                                                 const BlockGraph &graph,
                                                 const ScheduleOption &option) {
  SmallVector<MeshUnits> meshes = collectUnits(func, graph);
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

static LogicalResult reportProblem(const Schedule &schedule, FragmentOp first,
                                   FragmentOp second, StringRef problem) {
  InFlightDiagnostic diag = first.emitError()
                            << "schedule " << schedule.name << " " << problem;
  diag.attachNote(second.getLoc()) << "cannot be ordered with this fragment";
  return diag;
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
    BlockGraph graph(func.front());
    FailureOr<OrderedMeshes> meshes = getOrderedMeshes(func, graph, option);
    if (failed(meshes))
      return signalPassFailure();
    if (reportMisfits)
      reportMissingSplit(func, option, *meshes);
    if (failed(order(graph, *meshes)))
      signalPassFailure();
  }

private:
  LogicalResult order(const BlockGraph &graph, ArrayRef<OrderedMesh> meshes);
};
} // namespace

/// Relations leave room for data flow; a plan leaves none, so its user should
/// know.
static void reportConflicts(const DemandConflicts &conflicts,
                            const BlockGraph &graph, const UnitDemands &units,
                            const ScheduleOption &option, bool reportMisfits) {
  bool isRelation = option.schedule && option.schedule->getDemands;
  if (conflicts.count == 0 || (isRelation && !reportMisfits))
    return;
  InFlightDiagnostic diag =
      graph.getOp(units.getUnits()[conflicts.first].position)->emitWarning()
      << "runs before another fragment by schedule " << option.getName()
      << ", but needs its results; data flow wins";
  if (uint64_t others = conflicts.count - 1)
    diag << ", here and in " << others << " other pair"
         << (others == 1 ? "" : "s");
  diag.attachNote(
      graph.getOp(units.getUnits()[conflicts.second].position)->getLoc())
      << "this is the other fragment; microbatches may depend on each other "
         "by what was merged into them before scheduling";
}

/// Reports the first pair that is compared, but cannot be.
static LogicalResult verifyComparable(const Schedule &schedule,
                                      const UnitDemands &units,
                                      OpenPairs &pairs) {
  std::pair<unsigned, unsigned> worst(kNone, kNone);
  auto getMesh = [&](unsigned unit) -> const MeshUnits & {
    return units.getMesh(units.getUnits()[unit].mesh).units;
  };
  auto getProblem = [&](unsigned first, unsigned second) {
    ArrayRef<meshwright::WorkItem> items = getMesh(first).items;
    return schedule.findProblem(items[units.getUnits()[first].index],
                                items[units.getUnits()[second].index],
                                getMesh(first).mesh);
  };
  for (unsigned mesh = 0; mesh < units.getMeshCount(); ++mesh)
    pairs.visitAll(mesh, [&](unsigned first, unsigned second) {
      std::pair pair(first, second);
      if (pair < worst && getProblem(first, second))
        worst = pair;
    });
  if (worst.first == kNone)
    return success();
  auto getFragment = [&](unsigned unit) -> FragmentOp {
    return getMesh(unit).fragments[units.getUnits()[unit].index];
  };
  return reportProblem(schedule, getFragment(worst.first),
                       getFragment(worst.second),
                       *getProblem(worst.first, worst.second));
}

/// Each unit that another one is to wait for needs a result for that.
static LogicalResult verifyResults(const BlockGraph &graph,
                                   const UnitDemands &units, OpenPairs &pairs) {
  auto getOp = [&](unsigned unit) {
    return graph.getOp(units.getUnits()[unit].position);
  };
  unsigned worst = kNone;
  for (unsigned mesh = 0; mesh < units.getMeshCount(); ++mesh)
    if (llvm::any_of(units.getUnitsOf(mesh), [&](unsigned unit) {
          return getOp(unit)->getNumResults() == 0;
        }))
      pairs.visitDemanded(mesh, [&](unsigned first, unsigned) {
        if (getOp(first)->getNumResults() == 0)
          worst = std::min(worst, first);
      });
  if (worst == kNone)
    return success();
  return getOp(worst)->emitError()
         << "is scheduled before another fragment, but has no result by which "
            "that could wait";
}

/// Makes control dependencies of all pairs, in the order in which they are
/// compared.
static void addControlDependencies(const UnitDemands &units, OpenPairs &pairs) {
  for (unsigned mesh = 0; mesh < units.getMeshCount(); ++mesh) {
    ArrayRef<FragmentOp> fragments = units.getMesh(mesh).units.fragments;
    std::vector<EdgeTable::Edge> edges;
    pairs.visitDemanded(mesh, [&](unsigned first, unsigned second) {
      edges.emplace_back(units.getUnits()[second].index,
                         units.getUnits()[first].index);
    });
    std::reverse(edges.begin(), edges.end());
    EdgeTable predecessors(edges, fragments.size());
    for (auto [index, fragment] : llvm::enumerate(fragments))
      addControlDependencies(
          llvm::map_to_vector(predecessors[index],
                              [&](unsigned first) { return fragments[first]; }),
          fragment);
  }
}

LogicalResult PipelineSchedulerPass::order(const BlockGraph &graph,
                                           ArrayRef<OrderedMesh> meshes) {
  const ScheduleOption &option = mustHappenBefore.getValue();
  bool isAskedForProblems = hasProblem(option, meshes);
  OrderDemands demands = getDemands(graph, meshes);
  if (removeDependencies && !isAskedForProblems &&
      sortBlockTopologically(graph, demands))
    return success();

  UnitDemands units(graph, meshes);
  ConsistentOrder order = findConsistentOrder(graph, units, demands);
  std::optional<OpenPairs> pairs;
  if (isAskedForProblems || !removeDependencies)
    pairs.emplace(graph, units, order);
  if (isAskedForProblems &&
      failed(verifyComparable(*option.schedule, units, *pairs)))
    return failure();
  if (!removeDependencies && failed(verifyResults(graph, units, *pairs)))
    return failure();
  reportConflicts(order.conflicts, graph, units, option, reportMisfits);
  OrderDemands met(graph);
  for (auto [before, after] : order.edges)
    met.add(before, after);
  // Data flow with a cycle is no valid input, but must not go unsorted.
  if (!sortBlockTopologically(graph, met))
    sortBlockTopologically(graph.getBlock());
  if (!removeDependencies)
    addControlDependencies(units, *pairs);
  return success();
}
