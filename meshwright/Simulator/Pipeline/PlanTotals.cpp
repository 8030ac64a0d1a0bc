//===- PlanTotals.cpp - What a run of a plan says as a whole --------------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

#include "meshwright/Cost/TensorBytes.h"
#include "meshwright/Simulator/HeldMemory.h"
#include "meshwright/Simulator/Pipeline/PlanRun.h"
#include "meshwright/Simulator/Times.h"
#include "llvm/ADT/STLExtras.h"
#include <algorithm>
#include <tuple>

using namespace meshwright;

//===----------------------------------------------------------------------===//
// Memory
//===----------------------------------------------------------------------===//

/// What an action leaves to its own stage, and what it gives to others.
void PlanRun::listMade(const ActionId &maker, Ticks time,
                       llvm::StringMap<int64_t> &shares) {
  ActionId step = graph.getStep(maker);
  if (getStart(step) > time)
    return;
  Ticks stop = getStop(step), sentUntil = stop;
  bool isSent = false, isHeld = false;
  int64_t bytes = 0;
  auto hold = [&](Ticks end, int64_t held) {
    if (time >= end)
      return;
    isHeld = true;
    addCount(bytes, held);
  };
  graph.forEachReader(maker, [&](const ActionId &reader, uint32_t,
                                 const StepGraph::Link &link) {
    bool isTransfer = StepGraph::isTransfer(link, maker, reader);
    Ticks end = isTransfer ? getArrival(stop) : getStop(graph.getStep(reader));
    if (link.isOwn)
      return hold(std::max(stop, end), getBytes(link));
    isSent = true;
    sentUntil = std::max(sentUntil, end);
  });
  if (isSent)
    hold(sentUntil, 0);
  if (isHeld)
    addCount(shares["results of " + getStepName(graph.getActions(step))],
             bytes);
}

void PlanRun::listReceived(const ActionId &reader, Ticks time,
                           llvm::StringMap<int64_t> &shares) {
  Ticks stop = getStop(graph.getStep(reader));
  graph.forEachInput(reader, [&](uint32_t, const StepGraph::Link &link,
                                 const ActionId &maker) {
    if (!StepGraph::isTransfer(link, maker, reader))
      return;
    Ticks begin = getStop(graph.getStep(maker));
    if (begin <= time && time < std::max(stop, getArrival(begin)))
      shares.try_emplace("received from " + meshNames[maker.mesh], 0);
  });
}

void PlanRun::accountMemory(uint32_t mesh, Simulation &simulation) {
  HeldMemory memory;
  uint32_t numActions = graph.countActions(mesh);
  for (uint32_t index = 0; index < numActions; ++index) {
    ActionId maker{mesh, index}, step = graph.getStep(maker);
    if (!graph.isKept(maker))
      continue;
    graph.forEachReader(maker, [&](const ActionId &reader, uint32_t,
                                   const StepGraph::Link &link) {
      if (link.isKept)
        memory.hold(getStart(step),
                    std::max(getStop(step), getStop(graph.getStep(reader))),
                    getBytes(link));
    });
  }
  Simulation::Mesh &found = simulation.meshes[mesh];
  memory.findPeak(found, /*withLevels=*/false);
  llvm::StringMap<int64_t> shares;
  for (uint32_t index = 0; index < numActions; ++index) {
    listMade({mesh, index}, found.peakTime, shares);
    listReceived({mesh, index}, found.peakTime, shares);
  }
  found.peak = listShares(shares);
}

//===----------------------------------------------------------------------===//
// All
//===----------------------------------------------------------------------===//

void PlanRun::summarizeMesh(uint32_t mesh, Simulation &simulation) {
  Simulation::Mesh &found = simulation.meshes[mesh];
  uint32_t numActions = graph.countActions(mesh);
  for (uint32_t index = 0; index < numActions;) {
    ActionId step{mesh, index};
    found.busy += getDuration(step);
    index += graph.countActions(step);
  }
  found.bubble = getIdlePart(found.busy, makespan);
  if (numActions > 0) {
    found.firstStart = getStart({mesh, 0});
    found.lastStop = getStop(graph.getStep({mesh, numActions - 1}));
  }
  accountMemory(mesh, simulation);
}

/// By how much transfers could be later: goes back over the steps, whose starts become
/// the latest ones that do not make the whole longer.
void PlanRun::findEdges() {
  std::vector<uint32_t> ends;
  for (uint32_t mesh = 0; mesh < graph.countMeshes(); ++mesh)
    ends.push_back(graph.countActions(mesh));
  for (; !order.empty(); order.pop_back()) {
    uint32_t mesh = order.back();
    ActionId step = graph.getStep({mesh, ends[mesh] - 1});
    ends[mesh] = step.index;
    Ticks stop = getStop(step), latest = makespan;
    if (!graph.isLast(step))
      latest = getStart(graph.getNext(step));
    for (uint32_t i = 0; i < graph.countActions(step); ++i) {
      ActionId maker = {mesh, step.index + i};
      graph.forEachReader(maker, [&](const ActionId &reader, uint32_t,
                                     const StepGraph::Link &link) {
        Ticks end = getStart(graph.getStep(reader));
        if (StepGraph::isTransfer(link, maker, reader)) {
          end -= latency;
          auto [edge, isNew] =
              edges.try_emplace({mesh, reader.mesh}, Edge{0, end - stop});
          ++edge->second.transfers;
          edge->second.slack = std::min(edge->second.slack, end - stop);
        }
        latest = std::min(latest, end);
      });
    }
    getStart(step) = latest - getDuration(step);
  }
}

Simulation PlanRun::summarize(Workload &workload) {
  PlanActivities activities(model, workload);
  activities.addMeshes(graph.countMeshes());
  for (const Workload::Mesh &mesh : workload.meshes)
    meshNames.push_back(mesh.name);
  Simulation simulation;
  simulation.makespan = makespan;
  simulation.meshes.resize(graph.countMeshes());
  listPath(activities, simulation);
  for (uint32_t mesh = 0; mesh < graph.countMeshes(); ++mesh)
    summarizeMesh(mesh, simulation);
  findEdges();
  for (const auto &[ends, edge] : edges) {
    Simulation::Edge &added = simulation.edges.emplace_back();
    std::tie(added.source, added.target) = ends;
    added.transfers = edge.transfers;
    added.slack = edge.slack;
  }
  llvm::sort(simulation.edges, [](const auto &a, const auto &b) {
    return std::tie(a.source, a.target) < std::tie(b.source, b.target);
  });
  return simulation;
}
