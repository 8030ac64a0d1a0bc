//===- MeasuredPlan.cpp - A plan for the work of a program ----------------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

#include "meshwright/Optimize/Scheduler/MeasuredPlan.h"
#include "meshwright/Cost/Flops.h"
#include "meshwright/Schedule/Search/MadeToMeasure.h"
#include "llvm/ADT/STLExtras.h"
#include <cmath>

using namespace mlir;
using namespace mlir::mpmd;
using meshwright::ActionCosts;
using meshwright::PipelineProblem;
using meshwright::WorkItem;
using meshwright::WorkKind;

/// The longest action in units of time: fine enough for any difference that
/// matters, and far from an overflow.
static constexpr double kLongestAction = 1000;

namespace {
/// The work of one microbatch in a stage.
struct StageWork {
  std::optional<int64_t> mesh;
  FragmentOp fragment;
  double forward = 0, backward = 0, weight = 0;
  bool isSplit = false;
};
} // namespace

static double estimate(meshwright::WorkEstimator &estimator,
                       FragmentOp fragment) {
  meshwright::Work work = estimator.estimate(fragment.getRegion());
  return work.flops + meshwright::kPerTranscendental * work.transcendentals;
}

/// Microbatches are alike, so the first one seen of a kind stands for all.
static LogicalResult collectWork(ArrayRef<MeshUnits> meshes,
                                 meshwright::WorkEstimator &estimator,
                                 SmallVectorImpl<StageWork> &stages) {
  for (const MeshUnits &mesh : meshes)
    for (auto [fragment, item] : llvm::zip(mesh.fragments, mesh.items)) {
      StageWork &stage = stages[*item.stage];
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
      stage.isSplit |= item.kind == WorkKind::Weight;
      double &work = item.kind == WorkKind::Forward    ? stage.forward
                     : item.kind == WorkKind::Backward ? stage.backward
                                                       : stage.weight;
      if (work == 0)
        work = estimate(estimator, fragment);
    }
  return success();
}

static PipelineProblem makeProblem(ArrayRef<StageWork> stages) {
  double most = 1;
  for (const StageWork &stage : stages)
    most = std::max({most, stage.forward, stage.backward, stage.weight});
  auto toTime = [&](double work) {
    return std::max<int64_t>(1, std::llround(work / most * kLongestAction));
  };
  PipelineProblem problem;
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

FailureOr<meshwright::Plan>
mlir::mpmd::makeMeasuredPlan(func::FuncOp func, ArrayRef<MeshUnits> meshes,
                             const meshwright::PlanShape &shape) {
  int64_t numStages = 0;
  for (const MeshUnits &mesh : meshes)
    for (const WorkItem &item : mesh.items)
      numStages = std::max(numStages, *item.stage + 1);
  // A stage that slipped must not make a list of all below it.
  size_t numUnits = 0;
  for (const MeshUnits &mesh : meshes)
    numUnits += mesh.items.size();
  SmallVector<StageWork> stages;
  if (numStages <= static_cast<int64_t>(numUnits)) {
    stages.resize(numStages);
    meshwright::WorkEstimator estimator(func->getParentOp());
    if (failed(collectWork(meshes, estimator, stages)))
      return failure();
  }
  auto missing =
      llvm::find_if(stages, [](const StageWork &stage) { return !stage.mesh; });
  if (stages.empty() || missing != stages.end())
    return func.emitError()
           << "has units of stages up to " << numStages - 1 << ", but none of "
           << "stage " << (missing - stages.begin())
           << "; schedule auto needs stages 0, 1, 2, ...";
  PipelineProblem problem = makeProblem(stages);
  problem.microbatches = shape.microbatches;
  problem.mostLive.assign(shape.meshes,
                          std::max(getUsualRoom(shape), numStages));
  llvm::Expected<meshwright::MadePlan> made =
      meshwright::makeToMeasure(problem);
  if (!made)
    return func.emitError() << llvm::toString(made.takeError());
  return std::move(made->plan);
}
