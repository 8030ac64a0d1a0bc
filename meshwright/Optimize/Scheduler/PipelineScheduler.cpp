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
// flow: where two answers contradict each other the first one wins. Then the
// block is sorted.
//
// Mostly, nothing contradicts. If all that the schedule requires forms no cycle
// with the data flow, each constraint is carried out, and the sorted block only
// depends on what the constraints imply together. So the few groups that imply
// them all are handed to the sort, which is linear. If it finds a cycle, what
// holds is found unit by unit (ConsistentOrder), and again a few edges imply
// it. Only if later passes need the edges in the IR is each pair looked at.
//
// Zero-bubble relations say little about weight gradients. On demand, a program
// that is the pipeline of their plan gets its complete lists instead, which
// keep all that the relation says.
//
//===----------------------------------------------------------------------===//

#include "meshwright/Dialect/Mpmd/Fragments.h"
#include "meshwright/Fragments/ControlDependencies.h"
#include "meshwright/Optimize/Scheduler/Order/OpenPairs.h"
#include "meshwright/Optimize/Scheduler/OverlapMarks.h"
#include "meshwright/Optimize/Scheduler/PlanConstraints.h"
#include "meshwright/Optimize/Scheduler/ScheduleConstraints.h"
#include "meshwright/Optimize/Scheduler/ScheduleWarnings.h"
#include "meshwright/Optimize/Scheduler/SchedulingUnits.h"
#include "meshwright/Optimize/Scheduler/SequenceOrder.h"
#include "llvm/ADT/DenseSet.h"
#include "llvm/ADT/SmallVectorExtras.h"

#define GEN_PASS_DEF_PIPELINESCHEDULERPASS
#include "meshwright/Optimize/Scheduler/Passes.h"

using namespace mlir;
using namespace mlir::mpmd;
using meshwright::Constraints;
using meshwright::PipelineNeed;
using meshwright::Schedule;

using OrderedMeshes = std::vector<OrderedMesh>;

/// Of a pipeline without meshes there is nothing that a schedule could order.
static bool canOrder(const ScheduleOption &option, ArrayRef<MeshUnits> meshes) {
  return getNeed(option) == PipelineNeed::Nothing ||
         llvm::any_of(meshes, std::mem_fn(&MeshUnits::isInPipeline));
}

static LogicalResult verifySomeMeshTakesPart(const ScheduleOption &option,
                                             ArrayRef<MeshUnits> meshes) {
  if (canOrder(option, meshes))
    return success();
  for (const MeshUnits &mesh : meshes)
    if (!mesh.fragments.empty())
      return FragmentOp(mesh.fragments.front()).emitError()
             << "is on mesh " << mesh.meshName << ", but schedule "
             << option.getName()
             << " needs a mesh that takes part in the pipeline, and no mesh of "
                "the topology does: their names end in \"/cpu\"; rename one, "
                "or take schedule none";
  return success();
}

static OrderedMeshes join(MutableArrayRef<MeshUnits> meshes,
                          MutableArrayRef<Constraints> constraints) {
  OrderedMeshes ordered;
  for (auto [mesh, ofMesh] : llvm::zip(meshes, constraints))
    ordered.push_back({std::move(mesh), std::move(ofMesh)});
  return ordered;
}

static FailureOr<OrderedMeshes> getOrderedMeshes(func::FuncOp func,
                                                 const BlockGraph &graph,
                                                 const ScheduleOption &option,
                                                 const TimeSource &times,
                                                 meshwright::Plan &plan) {
  SmallVector<MeshUnits> meshes = collectUnits(func, graph);
  if (failed(verifySomeMeshTakesPart(option, meshes)))
    return failure();
  dropUnordered(meshes, option);
  if (option.sequenceChunks > 1 &&
      failed(verifyCausal(meshes, option.sequenceChunks, option.getName())))
    return failure();
  const Schedule *schedule = option.schedule;
  SmallVector<Constraints> constraints;
  if (schedule && schedule->getConstraints) {
    constraints = getRelation(*schedule, meshes);
  } else {
    FailureOr<SmallVector<Constraints>> ofPlan =
        getPlanConstraints(func, option, times, graph, meshes, plan);
    if (failed(ofPlan))
      return failure();
    constraints = std::move(*ofPlan);
  }
  return join(meshes, constraints);
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

/// Other schedules are the same whatever stages take.
static void warnOfUnusedTimes(func::FuncOp func, const ScheduleOption &option,
                              const TimeSource &times,
                              const meshwright::Plan &plan) {
  // What may overlap is decided by times as well.
  bool isUsed =
      (option.schedule && option.schedule->isSearched) || hasOverlaps(plan);
  if (!isUsed && times.isInSeconds())
    func.emitWarning() << "schedule " << option.getName()
                       << " does not depend on times; mpmd_schedule_device and "
                          "mpmd_schedule_profile are for schedule auto";
}

/// How many ops are after one that they preceded.
static unsigned countMoved(const BlockGraph &graph) {
  unsigned numMoved = 0, last = 0;
  for (Operation &op : getOpsBeforeTerminator(graph.getBlock())) {
    unsigned position = graph.getPosition(&op);
    numMoved += position < last;
    last = std::max(last, position);
  }
  return numMoved;
}

namespace {
struct PipelineSchedulerPass
    : mpmd::impl::PipelineSchedulerPassBase<PipelineSchedulerPass> {
  using Base::Base;

  void runOnFunction(func::FuncOp func) override {
    if (failed(restoreControlDependencies(func)))
      return signalPassFailure();
    if (failed(schedule(func)))
      signalPassFailure();
    settleControlDependencies(func, removeDependencies);
  }

private:
  LogicalResult schedule(func::FuncOp func) {
    const ScheduleOption &option = mustHappenBefore.getValue();
    if (onlyRestore) {
      BlockGraph graph(func.front());
      restoreOrder(func, graph);
      numMoved += countMoved(graph);
      return success();
    }
    TimeSource times{device.getValue().text, profile.getValue().text,
                     customCosts.getValue().text, memory.getValue().text};
    meshwright::Plan plan; // Of a schedule that is no relation.
    FailureOr<OrderedMeshes> meshes =
        getOrderedMeshes(func, BlockGraph(func.front()), option, times, plan);
    if (failed(meshes))
      return failure();
    BlockGraph graph(func.front()); // Sums may follow the plan now.
    if (reportUnmet) {
      warnOfMissingSplit(func, option, *meshes);
      if (!othersUseDevice || !profile.getValue().text.empty())
        warnOfUnusedTimes(func, option, times, plan);
    }
    SmallVector<MeshUnits> units;
    for (const OrderedMesh &mesh : *meshes)
      numUnits += mesh.units.fragments.size();
    LogicalResult result = success(orderByPlan(graph, *meshes) ||
                                   succeeded(order(graph, *meshes)));
    numMoved += countMoved(graph);
    for (const OrderedMesh &mesh : *meshes)
      units.push_back(mesh.units);
    markOverlaps(plan, units);
    return result;
  }

  LogicalResult order(const BlockGraph &graph, ArrayRef<OrderedMesh> meshes);
  bool orderByPlan(const BlockGraph &graph, ArrayRef<OrderedMesh> meshes);
  void restoreOrder(func::FuncOp func, const BlockGraph &graph);
};
} // namespace

/// Whether a relation leaves weight gradients to the order of the program.
static bool leavesWeightsOpen(const ScheduleOption &option) {
  return option.schedule && option.schedule->getConstraints &&
         option.schedule->splitsBackward;
}

/// The plan of a relation orders what that leaves open, if the program is its
/// pipeline and data flow does not contradict.
bool PipelineSchedulerPass::orderByPlan(const BlockGraph &graph,
                                        ArrayRef<OrderedMesh> meshes) {
  const ScheduleOption &option = mustHappenBefore.getValue();
  if (!addScheduleDependencies || !removeDependencies ||
      !leavesWeightsOpen(option))
    return false;
  auto units = llvm::map_to_vector(
      meshes, [](const OrderedMesh &mesh) { return mesh.units; });
  auto constraints = findPlanConstraints(option, units);
  return constraints &&
         sortBlockTopologically(
             graph, getConstraints(graph.size(), join(units, *constraints)));
}

/// Merging drops the marks of the halves of backward work: what shares stage
/// and counter with a first half is a second one.
static void findSecondHalves(MutableArrayRef<MeshUnits> meshes) {
  for (MeshUnits &mesh : meshes) {
    DenseSet<std::pair<int64_t, int64_t>> split;
    auto getKey = [](const meshwright::WorkItem &item) {
      return std::pair(item.microbatch, item.stage.value_or(-1));
    };
    for (auto [fragment, item] : llvm::zip(mesh.fragments, mesh.items))
      if (fragment->hasAttr(kSplitKeepTransferredAttr))
        split.insert(getKey(item));
    for (auto [fragment, item] : llvm::zip(mesh.fragments, mesh.items))
      if (item.kind == meshwright::WorkKind::Backward &&
          !fragment->hasAttr(kSplitKeepTransferredAttr) &&
          split.contains(getKey(item)))
        item.kind = meshwright::WorkKind::Weight;
  }
}

void PipelineSchedulerPass::restoreOrder(func::FuncOp func,
                                         const BlockGraph &graph) {
  const ScheduleOption &option = mustHappenBefore.getValue();
  SmallVector<MeshUnits> meshes = collectUnits(func, graph);
  if (!canOrder(option, meshes))
    return;
  dropUnordered(meshes, option);
  for (const MeshUnits &mesh : meshes)
    numUnits += mesh.fragments.size();
  findSecondHalves(meshes);
  std::optional<SmallVector<Constraints>> constraints;
  if (leavesWeightsOpen(option))
    constraints = findPlanConstraints(option, meshes);
  if (!constraints)
    constraints = findConstraints(option, meshes);
  if (constraints)
    sortBlockTopologically(
        graph, getConstraints(graph.size(), join(meshes, *constraints)));
}

/// Reports the first pair that is compared, but cannot be.
static LogicalResult verifyComparable(const Schedule &schedule,
                                      const UnitConstraints &units,
                                      OpenPairs &pairs) {
  std::pair<unsigned, unsigned> worst(kNone, kNone);
  auto getProblem = [&](unsigned first, unsigned second) {
    return schedule.findProblem(
        units.getItem(first), units.getItem(second),
        units.getMesh(units.getUnits()[first].mesh).units.mesh);
  };
  for (unsigned mesh = 0; mesh < units.getMeshCount(); ++mesh)
    pairs.visitAll(mesh, [&](unsigned first, unsigned second) {
      std::pair pair(first, second);
      if (pair < worst && getProblem(first, second))
        worst = pair;
    });
  if (worst.first == kNone)
    return success();
  return reportProblem(schedule, units.getFragment(worst.first),
                       units.getFragment(worst.second),
                       *getProblem(worst.first, worst.second));
}

/// Each unit that another one is to wait for needs a result for that.
static LogicalResult verifyResults(const BlockGraph &graph,
                                   const UnitConstraints &units,
                                   OpenPairs &pairs) {
  auto getOp = [&](unsigned unit) {
    return graph.getOp(units.getUnits()[unit].position);
  };
  unsigned worst = kNone;
  for (unsigned mesh = 0; mesh < units.getMeshCount(); ++mesh)
    if (llvm::any_of(units.getUnitsOf(mesh), [&](unsigned unit) {
          return getOp(unit)->getNumResults() == 0;
        }))
      pairs.visitRequired(mesh, [&](unsigned first, unsigned) {
        if (getOp(first)->getNumResults() == 0)
          worst = std::min(worst, first);
      });
  if (worst == kNone)
    return success();
  return getOp(worst)->emitError()
         << "is scheduled before another fragment, but has no result by which "
            "that could wait; return a value from it";
}

/// Makes control dependencies of all pairs, in the order in which they are
/// compared.
static void addControlDependencies(const UnitConstraints &units,
                                   OpenPairs &pairs) {
  for (unsigned mesh = 0; mesh < units.getMeshCount(); ++mesh) {
    ArrayRef<FragmentOp> fragments = units.getMesh(mesh).units.fragments;
    std::vector<EdgeTable::Edge> edges;
    pairs.visitRequired(mesh, [&](unsigned first, unsigned second) {
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
  FailureOr<MicrobatchPasses> passes =
      parseMicrobatchPasses(microbatchPasses.getValue().text);
  if (failed(passes))
    return graph.getBlock().getParentOp()->emitError()
           << "microbatch passes: expected the first and last call counter of "
              "each pass, as in 0-7,8-15, but got "
           << microbatchPasses.getValue().text;
  bool isAskedForProblems = hasProblem(option, meshes);
  OrderConstraints constraints = getConstraints(graph.size(), meshes);
  if (removeDependencies && !isAskedForProblems &&
      sortBlockTopologically(graph, constraints))
    return success();

  UnitConstraints units(graph, meshes);
  ConsistentOrder order = findConsistentOrder(graph, units, constraints);
  std::optional<OpenPairs> pairs;
  if (isAskedForProblems || !removeDependencies)
    pairs.emplace(graph, units, order);
  if (isAskedForProblems &&
      failed(verifyComparable(*option.schedule, units, *pairs)))
    return failure();
  if (!removeDependencies && failed(verifyResults(graph, units, *pairs)))
    return failure();
  // Relations may yield to data flow; a plan may not, so its user should
  // know.
  bool isRelation = option.schedule && option.schedule->getConstraints;
  numConflicts += order.numConflicts;
  if (order.numConflicts > 0 && (!isRelation || reportUnmet))
    warnOfConflicts(order, units, option, *passes);
  OrderConstraints met(graph);
  for (auto [before, after] : order.edges)
    met.add(before, after);
  // Data flow with a cycle is no valid input, but must not go unsorted.
  if (!sortBlockTopologically(graph, met))
    sortBlockTopologically(graph.getBlock());
  if (!removeDependencies)
    addControlDependencies(units, *pairs);
  return success();
}
