//===- PlanSummary.cpp - A plan simulated, without its items --------------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

#include "meshwright/Simulator/Pipeline/PlanSummary.h"
#include "meshwright/Simulator/Pipeline/PlanRounds.h"
#include "meshwright/Simulator/Pipeline/PlanRun.h"
#include "meshwright/Simulator/Pipeline/StepGraph.h"
#include "meshwright/Simulator/PlanWorkload.h"
#include <optional>
#include <utility>

using namespace meshwright;

/// None if the plan, from which some rounds may be removed, cannot be simulated without
/// its items, or runs to no end that can be counted. It is then as it was.
static std::optional<PlanSummary> summarize(Plan &plan,
                                            const PipelineModel &model,
                                            Ticks latency,
                                            const PlanRounds *rounds) {
  if (!StepGraph::canHave(plan))
    return std::nullopt;
  StepGraph graph(std::move(plan));
  if (graph.isComplete() && PlanRun::canRun(graph)) {
    PlanRun run(graph, model, latency, rounds);
    if (run.run()) {
      PlanSummary summary;
      if (auto simulation = run.summarize(summary.workload)) {
        summary.simulation = std::move(*simulation);
        return summary;
      }
    }
  }
  plan = graph.writeOut();
  return std::nullopt;
}

/// By the plan without most of its rounds. None if it has too few, or these differ.
static std::optional<PlanSummary>
summarizeRounds(Plan &plan, const PipelineModel &model, Ticks latency) {
  if (!StepGraph::canHave(plan))
    return std::nullopt;
  std::optional<PlanRounds> rounds = PlanRounds::find(plan);
  if (!rounds || !rounds->shorten(plan))
    return std::nullopt;
  std::optional<PlanSummary> summary =
      summarize(plan, model, latency, &*rounds);
  if (summary)
    summary->removedRounds = rounds->removed;
  else
    rounds->lengthen(plan);
  return summary;
}

llvm::Expected<PlanSummary>
meshwright::summarizePlan(Plan plan, const PipelineCosts &costs) {
  PipelineModel model = PipelineModel::make(costs);
  std::optional<PlanSummary> found =
      summarizeRounds(plan, model, costs.transfer);
  if (!found)
    found = summarize(plan, model, costs.transfer, /*rounds=*/nullptr);
  if (found)
    return std::move(*found);
  // With its items, a run that fails can say why.
  PlanSummary summary;
  summary.workload = makeWorkload(plan, model);
  llvm::Expected<Simulation> simulation = simulate(summary.workload);
  if (!simulation)
    return simulation.takeError();
  summary.simulation = std::move(*simulation);
  return summary;
}
