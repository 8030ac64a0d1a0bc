//===- StepSimulation.cpp - What a layout takes, simulated ----------------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

#include "meshwright/Planning/StepSimulation.h"
#include "meshwright/Schedule/Search/SearchedPlan.h"
#include "meshwright/Simulator/PlanWorkload.h"
#include "meshwright/Simulator/Simulation.h"
#include "meshwright/Simulator/Times.h"
#include "llvm/ADT/STLExtras.h"
#include <algorithm>
#include <cmath>
#include <string>

using namespace meshwright;

/// Units of time of the costliest stage.
static constexpr double kResolution = 1 << 20;

std::vector<StageCost> meshwright::getStages(const StageCosts &costs,
                                             const Layout &layout) {
  std::vector<StageCost> stages;
  for (size_t stage = 0, begin = 0; stage < layout.ends.size(); ++stage) {
    stages.push_back(costs.get(begin, layout.ends[stage]));
    begin = layout.ends[stage];
  }
  return stages;
}

UnitTimes meshwright::makeUnitTimes(const StageCosts &costs,
                                    const Layout &layout, bool crossesDomains) {
  UnitTimes times;
  std::vector<StageCost> stages = getStages(costs, layout);
  double longest = 0, transfer = 0;
  for (const StageCost &stage : stages)
    longest = std::max(longest, stage.getTime());
  for (size_t end : layout.ends)
    if (end < costs.getCount())
      transfer = std::max(transfer, costs.getTransfer(end, crossesDomains));
  times.unit = std::max(longest, 1e-12) / kResolution;
  auto toUnits = [&](double seconds) {
    return std::max<int64_t>(1, std::llround(seconds / times.unit));
  };
  for (const StageCost &stage : stages) {
    ActionCosts &action = times.costs.stages.emplace_back();
    action.forward = toUnits(stage.forward);
    action.input = toUnits(stage.input);
    action.weight = toUnits(stage.weight);
    action.backward = action.input + action.weight;
    action.overlapped = toUnits(stage.getPairTime());
  }
  // As many of them as there are actions still add up.
  times.costs.transfer = std::llround(std::min(transfer / times.unit, 0x1p40));
  return times;
}

void meshwright::measureMemory(const StageCosts &costs, const Plan &plan,
                               Layout &layout) {
  std::vector<StageCost> stages = getStages(costs, layout);
  layout.peakBytes = 0;
  for (auto [mesh, list] : llvm::enumerate(plan.meshes)) {
    double bytes = 0;
    for (auto [stage, place] : llvm::enumerate(layout.placement))
      if (place == static_cast<int64_t>(mesh))
        bytes += stages[stage].fixedBytes;
    double peak = bytes;
    for (const Action &action : list) {
      const StageCost &stage = stages[action.stage];
      if (action.kind == ActionKind::Forward)
        bytes += stage.keptBytes;
      peak = std::max(peak, bytes + stage.residualBytes);
      if (action.kind == ActionKind::Backward ||
          action.kind == ActionKind::Weight)
        bytes -= stage.keptBytes;
    }
    if (peak > layout.peakBytes) {
      layout.peakBytes = peak;
      layout.fullestMesh = static_cast<int64_t>(mesh);
    }
  }
}

namespace {
/// What a mesh has beside the microbatches that it keeps, and what one of these takes
/// in its stages.
struct MeshMemory {
  double fixed = 0, residual = 0;
  double mostKept = 0, sumKept = 0;
  int64_t stages = 0;
};
} // namespace

static std::vector<MeshMemory> sumMemory(const StageCosts &costs,
                                         const Layout &layout) {
  std::vector<MeshMemory> meshes(layout.meshes);
  for (auto [stage, place] :
       llvm::zip_equal(getStages(costs, layout), layout.placement)) {
    MeshMemory &mesh = meshes[place];
    mesh.fixed += stage.fixedBytes;
    mesh.residual = std::max(mesh.residual, stage.residualBytes);
    mesh.mostKept = std::max(mesh.mostKept, stage.keptBytes);
    mesh.sumKept += stage.keptBytes;
    ++mesh.stages;
  }
  return meshes;
}

double meshwright::findLeastMemory(const StageCosts &costs,
                                   const Layout &layout) {
  double most = 0;
  for (const MeshMemory &mesh : sumMemory(costs, layout))
    most = std::max(most, mesh.fixed + mesh.sumKept + mesh.residual);
  return most;
}

/// Stages of a microbatch that each mesh can hold.
static std::vector<int64_t> findMemoryLimits(const PlanInputs &inputs,
                                             const StageCosts &costs,
                                             const Layout &layout) {
  std::vector<int64_t> limits;
  for (const MeshMemory &mesh : sumMemory(costs, layout)) {
    double all = double(layout.microbatches * mesh.stages);
    double left = inputs.memory - mesh.fixed - mesh.residual;
    double most = mesh.mostKept > 0 ? left / mesh.mostKept : all;
    limits.push_back(static_cast<int64_t>(
        std::clamp(std::floor(most), double(mesh.stages), all)));
  }
  return limits;
}

PipelineProblem meshwright::makeProblem(const PlanInputs &inputs,
                                        const StageCosts &costs,
                                        const Layout &layout,
                                        const PipelineCosts &times) {
  PipelineProblem problem;
  problem.microbatches = layout.microbatches;
  problem.costs = times;
  problem.placement = layout.placement;
  problem.graph = layout.graph;
  // What is computed again is computed before all of a backward, and nothing waits for
  // the gradient of a first input.
  problem.splits.assign(layout.placement.size(), !layout.recomputes);
  StageLinks links = problem.getLinks();
  for (size_t stage = 0; stage < problem.splits.size(); ++stage)
    if (links.before[stage].empty())
      problem.splits[stage] = false;
  problem.mostLive = findMemoryLimits(inputs, costs, layout);
  return problem;
}

std::optional<Plan> meshwright::makeMeasuredPlan(const PlanInputs &inputs,
                                                 const StageCosts &costs,
                                                 Layout &layout,
                                                 const PipelineCosts &times) {
  PipelineProblem problem = makeProblem(inputs, costs, layout, times);
  llvm::Expected<SearchedPlan> made = searchPlan(problem);
  if (!made) {
    llvm::consumeError(made.takeError());
    return std::nullopt;
  }
  measureMemory(costs, made->plan, layout);
  if (layout.peakBytes > inputs.memory)
    return std::nullopt;
  layout.mostLive = problem.mostLive;
  return std::move(made->plan);
}

/// The model of the simulator, stage by stage.
static PipelineModel makeModel(const PlanInputs &inputs,
                               const StageCosts &costs, const Layout &layout) {
  PipelineModel model;
  int64_t each = layout.split.count();
  for (int64_t mesh = 0; mesh < layout.meshes; ++mesh)
    model.meshes.push_back({"mesh" + std::to_string(mesh), 0, each});
  auto getRange = [&](size_t stage) {
    return DeviceRange{layout.placement[stage] * each, each};
  };
  // Between a stage and the next one, either way.
  auto getTransfer = [&](size_t stage) {
    Route route = getRoute(getRange(stage), getRange(stage + 1), inputs.device);
    double seconds =
        costs.getTransfer(layout.ends[stage], route == Route::Network);
    StageTransfer transfer;
    transfer.latency = toTicks(inputs.device.latency);
    transfer.duration = toTicks(seconds - inputs.device.latency);
    return transfer;
  };
  size_t begin = 0;
  for (auto [index, end] : llvm::enumerate(layout.ends)) {
    StageCost cost = costs.get(begin, end);
    StageModel &stage = model.stages.emplace_back();
    stage.times.forward = toTicks(cost.forward);
    stage.times.input = toTicks(cost.input);
    stage.times.weight = toTicks(cost.weight);
    stage.times.backward = stage.times.input + stage.times.weight;
    stage.times.overlapped = toTicks(cost.getPairTime());
    stage.optimizer = toTicks(cost.stepEnd);
    if (index + 1 < layout.ends.size())
      stage.toNext = getTransfer(index);
    if (index > 0)
      stage.toPrevious = getTransfer(index - 1);
    begin = end;
  }
  return model;
}

llvm::Error meshwright::simulateStep(const PlanInputs &inputs,
                                     const StageCosts &costs, const Plan &plan,
                                     Layout &layout) {
  llvm::Expected<Simulation> simulation =
      simulate(makeWorkload(plan, makeModel(inputs, costs, layout)));
  if (!simulation)
    return simulation.takeError();
  layout.seconds = static_cast<double>(simulation->makespan) / kTicksPerSecond;
  std::vector<StageCost> stages = getStages(costs, layout);
  std::vector<StageCost> meshes(layout.meshes);
  double count = double(layout.microbatches);
  for (auto [stage, mesh] : llvm::zip_equal(stages, layout.placement)) {
    meshes[mesh].forward += stage.getTime() * count;
    meshes[mesh].reduces += stage.reduces * count;
    meshes[mesh].stepEnd += stage.stepEnd;
  }
  for (auto [list, mesh] : llvm::zip_equal(plan.meshes, meshes))
    for (const Action &action : list)
      if (action.joinsNext) {
        const StageCost &stage = stages[action.stage];
        double hidden = stage.getTime() - stage.getPairTime();
        mesh.forward -= hidden;
        mesh.reduces -= hidden;
      }
  auto busiest =
      llvm::max_element(meshes, [](const StageCost &a, const StageCost &b) {
        return a.forward + a.stepEnd < b.forward + b.stepEnd;
      });
  layout.reduces = std::max(0.0, busiest->reduces);
  layout.compute = busiest->forward - layout.reduces;
  layout.stepEnd = busiest->stepEnd;
  layout.idle =
      std::max(0.0, layout.seconds - busiest->forward - busiest->stepEnd);
  return llvm::Error::success();
}
