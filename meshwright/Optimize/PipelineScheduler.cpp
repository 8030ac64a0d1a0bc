//===- PipelineScheduler.cpp - Orders fragments by a schedule -------------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// A schedule says of two scheduling units on one mesh which runs first:
//
//   F0 B0 F1 B1   with GPipe becomes   F0 F1 B0 B1
//
// Each pair that data flow leaves open is asked, and the answer becomes an edge
// of the graph; then the block is sorted. Units are visited in the order of the
// program and the edges added so far count as data flow, so where two answers
// contradict each other the first one stands, and no cycle arises.
//
//===----------------------------------------------------------------------===//

#include "meshwright/Common/BlockSort.h"
#include "meshwright/Common/ControlDependencies.h"
#include "meshwright/Dialect/Mpmd/Fragments.h"
#include "meshwright/Dialect/Mpmd/Functions.h"
#include "meshwright/Optimize/BlockDependencies.h"
#include "meshwright/Optimize/Passes.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/StringMap.h"

namespace mlir::mpmd {
#define GEN_PASS_DEF_PIPELINESCHEDULERPASS
#include "meshwright/Optimize/Passes.h.inc"
} // namespace mlir::mpmd

using namespace mlir;
using namespace mlir::mpmd;
using meshwright::MeshPosition;
using meshwright::Schedule;
using meshwright::WorkItem;
using meshwright::WorkKind;

namespace {
/// A scheduling unit, as the schedule and as the graph see it.
struct Unit {
  mutable FragmentOp fragment;
  unsigned position;
  WorkItem item;
};

/// The units of one mesh, in program order.
struct MeshUnits {
  MeshPosition mesh;
  SmallVector<Unit> units;
};
} // namespace

static WorkItem getWorkItem(FragmentOp fragment) {
  WorkKind kind = WorkKind::Forward;
  if (!isForwardFragment(fragment))
    kind = fragment->hasAttr(kSplitDropTransferredAttr) ? WorkKind::Weight
                                                        : WorkKind::Backward;
  std::optional<int64_t> stage;
  if (IntegerAttr attr = fragment.getStageIdAttr())
    stage = attr.getInt();
  return {kind, *getCallCounter(fragment), stage};
}

/// The number from the first digit of a name to its end.
static std::optional<int64_t> getNumber(StringRef mesh) {
  int64_t number;
  if (mesh.substr(mesh.find_first_of("0123456789")).getAsInteger(10, number))
    return std::nullopt;
  return number;
}

/// Meshes of the CPU take no part in a pipeline.
static llvm::StringMap<MeshPosition> getMeshPositions(TopologyAttr topology) {
  llvm::StringMap<MeshPosition> positions;
  for (NamedMeshAttr mesh : topology.getMeshes())
    if (!mesh.getName().ends_with("/cpu"))
      positions.try_emplace(
          mesh.getName(),
          MeshPosition{positions.size(), 0, getNumber(mesh.getName())});
  for (auto &entry : positions)
    entry.second.count = positions.size();
  return positions;
}

static SmallVector<MeshUnits> collectUnits(func::FuncOp func,
                                           const BlockDependencies &graph) {
  auto positions = getMeshPositions(getTopology(func));
  llvm::MapVector<StringAttr, MeshUnits> meshes;
  for (FragmentOp fragment : func.front().getOps<FragmentOp>()) {
    auto position = positions.find(fragment.getMeshName());
    if (position == positions.end() || !isSchedulingUnit(fragment))
      continue;
    MeshUnits &mesh = meshes[fragment.getMeshNameAttr()];
    mesh.mesh = position->second;
    mesh.units.push_back(
        {fragment, graph.getPosition(fragment), getWorkItem(fragment)});
  }
  auto lists = meshes.takeVector();
  return llvm::map_to_vector(lists, [](auto &entry) { return entry.second; });
}

namespace {
/// Adds what a schedule demands to the graph, and remembers it.
class Scheduler {
public:
  Scheduler(const Schedule &schedule, BlockDependencies &graph)
      : schedule(schedule), graph(graph) {}

  LogicalResult orderMesh(const MeshUnits &mesh);

  using Edge = std::pair<FragmentOp, FragmentOp>;
  ArrayRef<Edge> getEdges() const { return edges; }

private:
  LogicalResult checkPairs(const MeshUnits &mesh) const;
  void orderUnit(const MeshUnits &mesh, const Unit &unit);

  const Schedule &schedule;
  BlockDependencies &graph;
  SmallVector<Edge> edges;
};
} // namespace

LogicalResult Scheduler::checkPairs(const MeshUnits &mesh) const {
  if (!schedule.findProblem)
    return success();
  for (const Unit &first : mesh.units)
    for (const Unit &second : mesh.units) {
      if (&first == &second)
        continue;
      std::optional<std::string> problem =
          schedule.findProblem(first.item, second.item, mesh.mesh);
      if (!problem)
        continue;
      InFlightDiagnostic diag = first.fragment.emitError()
                                << "schedule " << schedule.name << " "
                                << *problem;
      diag.attachNote(second.fragment.getLoc())
          << "cannot be ordered with this fragment";
      return diag;
    }
  return success();
}

/// Compares one unit with all others of its mesh, in program order.
void Scheduler::orderUnit(const MeshUnits &mesh, const Unit &unit) {
  // Those before the unit run first if data flow says so.
  std::optional<llvm::BitVector> ancestors;
  ForwardPaths paths(graph, unit.position);
  for (const Unit &other : mesh.units) {
    if (other.position == unit.position ||
        !schedule.mustPrecede(unit.item, other.item, mesh.mesh))
      continue;
    if (other.position > unit.position) {
      if (paths.reaches(other.position))
        continue;
      paths.addEdge(other.position);
    } else {
      // Edges out of the unit lead to nothing that has a path to it, so they
      // do not change its ancestors.
      if (!ancestors)
        ancestors = graph.findAncestors(unit.position);
      if (ancestors->test(other.position))
        continue;
      paths.addEdge(other.position);
    }
    edges.emplace_back(unit.fragment, other.fragment);
  }
}

LogicalResult Scheduler::orderMesh(const MeshUnits &mesh) {
  if (failed(checkPairs(mesh)))
    return failure();
  for (const Unit &unit : mesh.units)
    orderUnit(mesh, unit);
  return success();
}

namespace {
struct PipelineSchedulerPass
    : mpmd::impl::PipelineSchedulerPassBase<PipelineSchedulerPass> {
  using Base::Base;

  void runOnOperation() override {
    func::FuncOp func = getOperation();
    if (func.isDeclaration() || !isMpmdFunction(func))
      return markAllAnalysesPreserved();

    BlockDependencies graph(func.front());
    Scheduler scheduler(*mustHappenBefore.getValue().schedule, graph);
    for (const MeshUnits &mesh : collectUnits(func, graph))
      if (failed(scheduler.orderMesh(mesh)))
        return signalPassFailure();

    for (auto [first, second] : scheduler.getEdges())
      addControlDependency(first, second);
    sortBlockTopologically(func.front());
    if (removeDependencies)
      removeControlDependencies(func);
  }
};
} // namespace
