//===- PlanSummary.cpp - A plan simulated, without its items --------------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

#include "meshwright/Simulator/Pipeline/PlanSummary.h"
#include "meshwright/Simulator/Pipeline/PlanRun.h"
#include "meshwright/Simulator/Pipeline/StepGraph.h"
#include "meshwright/Simulator/PlanWorkload.h"
#include <optional>
#include <utility>

using namespace meshwright;

/// None if the plan cannot be simulated without its items, or runs to no end that can be
/// counted. It is then as it was.
static std::optional<PlanSummary>
summarize(Plan &plan, const PipelineModel &model, Ticks latency) {
  if (!StepGraph::canHave(plan))
    return std::nullopt;
  StepGraph graph(std::move(plan));
  if (graph.isComplete() && PlanRun::canRun(graph)) {
    PlanRun run(graph, model, latency);
    if (run.run()) {
      PlanSummary summary;
      summary.simulation = run.summarize(summary.workload);
      return summary;
    }
  }
  plan = graph.writeOut();
  return std::nullopt;
}

llvm::Expected<PlanSummary>
meshwright::summarizePlan(Plan plan, const PipelineCosts &costs) {
  PipelineModel model = PipelineModel::make(costs);
  if (std::optional<PlanSummary> summary =
          summarize(plan, model, costs.transfer))
    return std::move(*summary);
  // With its items, a run that fails can say why.
  PlanSummary summary;
  summary.workload = makeWorkload(plan, model);
  llvm::Expected<Simulation> simulation = simulate(summary.workload);
  if (!simulation)
    return simulation.takeError();
  summary.simulation = std::move(*simulation);
  return summary;
}
