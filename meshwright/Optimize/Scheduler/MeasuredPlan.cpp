//===- MeasuredPlan.cpp - A plan for the work of a program ----------------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

#include "meshwright/Optimize/Scheduler/MeasuredPlan.h"
#include "meshwright/Cost/Flops.h"
#include "meshwright/Schedule/Schedule.h"
#include "meshwright/Schedule/Search/SearchedPlan.h"
#include "llvm/ADT/STLExtras.h"
#include <cmath>
#include <functional>
#include <set>

using namespace mlir;
using namespace mlir::mpmd;
using meshwright::ActionCosts;
using meshwright::PipelineProblem;
using meshwright::WorkItem;
using meshwright::WorkKind;

/// The longest action in units of time: fine enough for any difference that
/// matters, and far from an overflow.
static constexpr double kLongestAction = 1000;

/// Transfers may be far longer than all work, and are added up as well. As long
/// as in a file of times.
static constexpr double kLongestTransfer = int64_t(1) << 32;

namespace {
/// The work of one microbatch in a stage.
struct StageWork {
  std::optional<int64_t> mesh;
  FragmentOp fragment;
  std::optional<double> forward, backward, weight;
  bool isSplit = false;
};

/// Those of the stages that have units, in order: some may be empty.
class StageNumbers {
public:
  explicit StageNumbers(const std::set<int64_t> &present)
      : numbers(present.begin(), present.end()) {}

  size_t size() const { return numbers.size(); }
  int64_t getNumber(size_t index) const { return numbers[index]; }
  size_t getIndex(int64_t number) const {
    return llvm::lower_bound(numbers, number) - numbers.begin();
  }

private:
  SmallVector<int64_t> numbers;
};
} // namespace

using Estimate = function_ref<FailureOr<double>(FragmentOp)>;

/// Microbatches are alike, so the first one seen of a kind represents all.
static LogicalResult collectWork(ArrayRef<MeshUnits> meshes, Estimate estimate,
                                 const StageNumbers &numbers,
                                 SmallVectorImpl<StageWork> &stages) {
  for (const MeshUnits &mesh :
       llvm::make_filter_range(meshes, std::mem_fn(&MeshUnits::isInPipeline)))
    for (auto [fragment, item] : llvm::zip(mesh.fragments, mesh.items)) {
      StageWork &stage =
          stages[numbers.getIndex(item.stage.value_or(mesh.mesh.index))];
      stage.isSplit |= item.kind == WorkKind::Weight;
      std::optional<double> &work =
          item.kind == WorkKind::Forward    ? stage.forward
          : item.kind == WorkKind::Backward ? stage.backward
                                            : stage.weight;
      if (work)
        continue;
      FailureOr<double> found = estimate(fragment);
      if (failed(found))
        return failure();
      work = *found;
    }
  return success();
}

/// Finds the mesh of each stage.
static LogicalResult collectPlaces(ArrayRef<MeshUnits> meshes,
                                   const StageNumbers &numbers,
                                   SmallVectorImpl<StageWork> &stages) {
  for (const MeshUnits &mesh : meshes)
    for (auto [fragment, item] : llvm::zip(mesh.fragments, mesh.items)) {
      StageWork &stage = stages[numbers.getIndex(*item.stage)];
      if (stage.mesh && *stage.mesh != mesh.mesh.index) {
        InFlightDiagnostic diag =
            FragmentOp(fragment).emitError()
            << "is of stage " << *item.stage
            << ", which is on several meshes; schedule auto needs each stage "
               "on one";
        diag.attachNote(stage.fragment.getLoc())
            << "this one is on mesh \"" << stage.fragment.getMeshName() << "\"";
        return diag;
      }
      stage.mesh = mesh.mesh.index;
      stage.fragment = fragment;
    }
  return success();
}

static PipelineProblem makeProblem(ArrayRef<StageWork> stages,
                                   double transfer) {
  double most = 0;
  for (const StageWork &stage : stages)
    for (auto &work : {stage.forward, stage.backward, stage.weight})
      most = std::max(most, meshwright::saturate(work.value_or(0)));
  auto scale = [&](double work, double longest) -> int64_t {
    if (most == 0)
      return 0;
    double relative = meshwright::saturate(work) / most * kLongestAction;
    return std::llround(std::min(relative, longest));
  };
  auto toTime = [&](std::optional<double> work) {
    return std::max<int64_t>(1, scale(work.value_or(0), kLongestAction));
  };
  PipelineProblem problem;
  problem.costs.transfer = scale(transfer, kLongestTransfer);
  for (const StageWork &stage : stages) {
    ActionCosts costs;
    costs.forward = toTime(stage.forward);
    costs.input = toTime(stage.backward);
    costs.weight = toTime(stage.weight);
    costs.backward = stage.isSplit ? costs.input + costs.weight : costs.input;
    problem.costs.stages.push_back(costs);
    problem.splits.push_back(stage.isSplit);
    problem.placement.push_back(*stage.mesh);
  }
  return problem;
}

/// Fills in what stages take, by floating point work.
static LogicalResult countWork(func::FuncOp func, ArrayRef<MeshUnits> meshes,
                               const TimeSource &source,
                               const StageNumbers &numbers,
                               SmallVectorImpl<StageWork> &stages) {
  llvm::Expected<meshwright::CustomCosts> customs =
      meshwright::parseCostList(source.customCosts);
  if (!customs)
    return func.emitError()
           << "mpmd_custom_costs: " << llvm::toString(customs.takeError());
  meshwright::WorkEstimator works(func->getParentOp(), std::move(*customs));
  LogicalResult result = collectWork(
      meshes,
      [&](FragmentOp fragment) -> FailureOr<double> {
        meshwright::Work work = works.estimate(fragment.getRegion());
        return work.flops +
               meshwright::kPerTranscendental * work.transcendentals;
      },
      numbers, stages);
  warnOfUncounted(func, works.getUncounted());
  return result;
}

/// The same by seconds; also what the longest transfer takes.
static LogicalResult measureWork(func::FuncOp func, const TimeSource &source,
                                 const StageNumbers &numbers,
                                 SmallVectorImpl<StageWork> &stages,
                                 double &transfer) {
  FailureOr<std::unique_ptr<TimedProgram>> program =
      TimedProgram::make(func, source);
  if (failed(program))
    return failure();
  if (failed(collectWork(
          (*program)->getUnits(),
          [&](FragmentOp fragment) { return (*program)->measure(fragment); },
          numbers, stages)))
    return failure();
  transfer = (*program)->findLongestTransfer();
  return (*program)->reportUnknown();
}

FailureOr<meshwright::Plan>
mlir::mpmd::makeMeasuredPlan(func::FuncOp func, ArrayRef<MeshUnits> meshes,
                             const meshwright::PlanShape &shape,
                             const TimeSource &source) {
  std::set<int64_t> present;
  for (const MeshUnits &mesh : meshes)
    for (const WorkItem &item : mesh.items) {
      if (*item.stage < 0 || *item.stage >= meshwright::kMostActions)
        return func.emitError() << "has a unit of stage " << *item.stage
                                << "; schedule auto needs stages from 0, below "
                                << meshwright::kMostActions;
      present.insert(*item.stage);
    }
  StageNumbers numbers(present);
  int64_t lastStage = present.empty() ? -1 : *present.rbegin();
  auto numStages = static_cast<int64_t>(numbers.size());
  if (!shape.graph.isChain() &&
      (numStages != lastStage + 1 || shape.graph.countStages() != numStages))
    return func.emitError()
           << "has stages 0 to " << lastStage << ", but the towers of the "
           << "schedule have " << shape.graph.countStages()
           << "; give each stage of the program a tower";
  SmallVector<StageWork> stages(numbers.size());
  if (failed(collectPlaces(meshes, numbers, stages)))
    return failure();
  double transfer = 0;
  if (failed(source.isInSeconds()
                 ? measureWork(func, source, numbers, stages, transfer)
                 : countWork(func, meshes, source, numbers, stages)))
    return failure();
  PipelineProblem problem = makeProblem(stages, transfer);
  problem.microbatches = shape.microbatches;
  if (shape.graph.isChain()) {
    problem.mostLive.assign(shape.meshes,
                            std::max(getUsualRoom(shape), numStages));
  } else {
    problem.graph = shape.graph;
    problem.mostLive = getUsualRooms(shape.graph);
  }
  llvm::Expected<meshwright::SearchedPlan> made =
      meshwright::searchPlan(problem);
  if (!made)
    return func.emitError() << llvm::toString(made.takeError());
  for (meshwright::ActionList &list : made->plan.meshes)
    for (meshwright::Action &action : list)
      action.stage = numbers.getNumber(action.stage);
  return std::move(made->plan);
}
