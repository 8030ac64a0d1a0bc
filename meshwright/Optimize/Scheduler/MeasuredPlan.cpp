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
  double exchanging = 0; ///< In collectives, of all of these.
  bool isSplit = false;

  /// Of the forward and all of the backward as an overlapped pair: kernels and
  /// collectives are two resources.
  double getPairTime() const {
    double first = forward.value_or(0);
    double second = backward.value_or(0) + weight.value_or(0);
    return std::max({first + second - exchanging, exchanging, first, second});
  }
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

using Estimate = function_ref<FailureOr<UnitSeconds>(FragmentOp)>;

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
      FailureOr<UnitSeconds> found = estimate(fragment);
      if (failed(found))
        return failure();
      work = found->all;
      stage.exchanging += found->exchanging;
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
    if (stage.exchanging > 0)
      costs.overlapped =
          std::max<int64_t>(1, scale(stage.getPairTime(), 3 * kLongestAction));
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
      [&](FragmentOp fragment) -> FailureOr<UnitSeconds> {
        meshwright::Work work = works.estimate(fragment.getRegion());
        return UnitSeconds{work.flops + meshwright::kPerTranscendental *
                                            work.transcendentals};
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

/// Where the order has a forward and then a backward of another microbatch, they may
/// overlap; whether they gain by that is decided when their collectives are known.
static void pairNeighbours(meshwright::Plan &plan) {
  for (meshwright::ActionList &list : plan.meshes)
    for (size_t i = 0; i + 1 < list.size(); ++i) {
      meshwright::Action &first = list[i];
      const meshwright::Action &second = list[i + 1];
      if (first.kind != meshwright::ActionKind::Forward ||
          second.kind == meshwright::ActionKind::Forward ||
          second.kind == meshwright::ActionKind::Weight ||
          first.microbatch == second.microbatch)
        continue;
      first.joinsNext = true;
      ++i;
    }
}

/// What each mesh may keep, of so many stages.
static LogicalResult readRoom(func::FuncOp func, const TimeSource &source,
                              const meshwright::PlanShape &shape,
                              int64_t stages, std::vector<int64_t> &room) {
  if (shape.graph.isChain())
    room.assign(shape.meshes, std::max(getUsualRoom(shape), stages));
  else
    room = getUsualRooms(shape.graph);
  if (source.memory.empty())
    return success();
  SmallVector<StringRef> texts;
  StringRef(source.memory).split(texts, ',');
  if (texts.size() != 1 && texts.size() != room.size())
    return func.emitError() << "mpmd_schedule_memory has " << texts.size()
                            << " numbers, but the pipeline has " << room.size()
                            << " meshes; give one for each, or one for all";
  for (auto [mesh, most] : llvm::enumerate(room)) {
    StringRef text = texts[texts.size() == 1 ? 0 : mesh].trim();
    if (text.getAsInteger(10, most) || most < 1)
      return func.emitError()
             << "mpmd_schedule_memory: expected a whole number "
                "of 1 or more, got '"
             << text << "'";
  }
  return success();
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
  if (!shape.graph.isChain())
    problem.graph = shape.graph;
  if (failed(readRoom(func, source, shape, numStages, problem.mostLive)))
    return failure();
  llvm::Expected<meshwright::SearchedPlan> made =
      meshwright::searchPlan(problem);
  if (!made)
    return func.emitError() << llvm::toString(made.takeError());
  for (meshwright::ActionList &list : made->plan.meshes)
    for (meshwright::Action &action : list)
      action.stage = numbers.getNumber(action.stage);
  pairNeighbours(made->plan);
  return std::move(made->plan);
}
