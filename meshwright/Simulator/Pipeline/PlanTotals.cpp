//===- PlanTotals.cpp - What a run of a plan says as a whole --------------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

#include "meshwright/Simulator/HeldMemory.h"
#include "meshwright/Simulator/Pipeline/PlanRun.h"
#include "meshwright/Simulator/Times.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/Sequence.h"
#include <algorithm>
#include <tuple>

using namespace meshwright;

//===----------------------------------------------------------------------===//
// Memory
//===----------------------------------------------------------------------===//

/// How much of what an action leaves to its own stage, and gives to others, is there at a
/// time when it has started; none if nothing is.
std::optional<int64_t> PlanRun::findHeld(const ActionId &maker, Ticks time) {
  Ticks stop = getStop(graph.getStep(maker)), sentUntil = stop;
  bool isSent = false;
  std::optional<int64_t> bytes;
  auto hold = [&](Ticks end, int64_t held) {
    if (time < end)
      bytes = bytes.value_or(0) + held;
  };
  graph.forEachReader(maker, [&](const ActionId &reader,
                                 const StepGraph::Reader &of) {
    bool isTransfer = StepGraph::isTransfer(of.link, maker, reader);
    Ticks end = isTransfer ? getArrival(stop) : getStop(graph.getStep(reader));
    if (of.link.isOwn)
      return hold(end, getBytes(of.link));
    isSent = true;
    sentUntil = std::max(sentUntil, end);
  });
  if (isSent)
    hold(sentUntil, 0);
  return bytes;
}

void PlanRun::listMade(uint32_t mesh, Ticks time,
                       llvm::StringMap<int64_t> &shares) {
  // By the work of a step, and the second one of a pair.
  llvm::SmallDenseMap<std::pair<uint32_t, uint32_t>, int64_t *> listed;
  for (uint32_t index = 0; index < graph.countActions(mesh); ++index) {
    ActionId maker{mesh, index}, step = graph.getStep(maker);
    if (getStart(step) > time)
      return;
    std::optional<int64_t> bytes = findHeld(maker, time);
    if (!bytes)
      continue;
    uint32_t second = graph.isPair(step)
                          ? graph.getEntry({mesh, step.index + 1}).work
                          : ActionInputs::kNone;
    int64_t *&share = listed[{graph.getEntry(step).work, second}];
    if (!share)
      share = &shares["results of " + getStepName(graph.getActions(step))];
    *share += *bytes;
  }
}

/// How many actions of a mesh have ended at a time.
uint32_t PlanRun::countEnded(uint32_t mesh, Ticks time) {
  return *llvm::partition_point(
      llvm::seq<uint32_t>(0, graph.countActions(mesh)), [&](uint32_t index) {
        return getStop(graph.getStep({mesh, index})) <= time;
      });
}

/// What the actions that have not ended will read of other meshes.
void PlanRun::listReceived(uint32_t mesh, Ticks time,
                           llvm::StringMap<int64_t> &shares) {
  // Of each mesh, how many of its actions have ended; none once it is listed.
  llvm::SmallDenseMap<uint32_t, uint32_t> ended;
  for (uint32_t index = countEnded(mesh, time);
       index < graph.countActions(mesh); ++index) {
    ActionId reader{mesh, index};
    graph.forEachInput(reader, [&](uint32_t, const StepGraph::Link &link,
                                   const ActionId &maker) {
      if (!StepGraph::isTransfer(link, maker, reader))
        return;
      auto [entry, isNew] = ended.try_emplace(maker.mesh);
      if (isNew)
        entry->second = countEnded(maker.mesh, time);
      if (maker.index >= entry->second)
        return;
      entry->second = 0;
      shares["received from " + meshNames[maker.mesh]] = 0;
    });
  }
}

void PlanRun::accountMemory(uint32_t mesh, Simulation::Mesh &found) {
  HeldMemory memory;
  uint32_t numActions = graph.countActions(mesh);
  for (uint32_t index = 0; index < numActions; ++index) {
    ActionId maker{mesh, index}, step = graph.getStep(maker);
    if (!graph.isKept(maker))
      continue;
    graph.forEachReader(
        maker, [&](const ActionId &reader, const StepGraph::Reader &of) {
          if (of.link.isKept)
            memory.hold(getStart(step), getStop(graph.getStep(reader)),
                        getBytes(of.link));
        });
  }
  memory.findPeak(found, /*withLevels=*/false);
  llvm::StringMap<int64_t> shares;
  listMade(mesh, found.peakTime, shares);
  listReceived(mesh, found.peakTime, shares);
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
    found.busy += countRepeats(step) * getDuration(step);
    index += graph.countActions(step);
  }
  found.bubble = getIdlePart(found.busy, simulation.makespan);
  if (numActions > 0) {
    found.firstStart = getStart({mesh, 0});
    found.lastStop =
        getStop(graph.getStep({mesh, numActions - 1})) + removedTime;
  }
  accountMemory(mesh, found);
}

Simulation::Edge &PlanRun::getEdge(uint32_t source, uint32_t target,
                                   uint32_t reader) {
  uint32_t &number = lastEdges[reader];
  if (number >= edges.size() || edges[number].source != source ||
      edges[number].target != target) {
    number =
        edgeNumbers.try_emplace({source, target}, edges.size()).first->second;
    if (number == edges.size())
      edges.push_back(
          {source, target, HostWay::None, 0, 0, 0, /*slack=*/makespan});
  }
  return edges[number];
}

/// By how much transfers could be later: goes back over the steps, whose starts become
/// the latest ones that do not make the whole longer.
void PlanRun::findEdges() {
  lastEdges.resize(graph.getWorks().size());
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
      graph.forEachReader(
          maker,
          [&](const ActionId &reader, const StepGraph::Reader &of) {
            Ticks end = getStart(graph.getStep(reader));
            if (StepGraph::isTransfer(of.link, maker, reader)) {
              end -= latency;
              Simulation::Edge &edge = getEdge(mesh, reader.mesh, of.work);
              edge.transfers += countRepeats(maker);
              edge.slack = std::min(edge.slack, end - stop);
            }
            latest = std::min(latest, end);
          },
          /*withImplied=*/false);
    }
    getStart(step) = latest - getDuration(step);
  }
  llvm::sort(edges, [](const auto &a, const auto &b) {
    return std::tie(a.source, a.target) < std::tie(b.source, b.target);
  });
}

std::optional<Simulation> PlanRun::summarize(Workload &workload) {
  PlanActivities activities(model, workload);
  activities.addMeshes(graph.countMeshes());
  for (const Workload::Mesh &mesh : workload.meshes)
    meshNames.push_back(mesh.name);
  Simulation simulation;
  simulation.makespan = makespan + removedTime;
  simulation.meshes.resize(graph.countMeshes());
  listPath(activities, simulation);
  for (uint32_t mesh = 0; mesh < graph.countMeshes(); ++mesh)
    summarizeMesh(mesh, simulation);
  Ticks firstAfter = findFirstAfter();
  findEdges();
  if (!isSlackRepeated() ||
      llvm::any_of(simulation.meshes, [&](const Simulation::Mesh &mesh) {
        return mesh.peakTime >= firstAfter;
      }))
    return std::nullopt;
  simulation.edges = std::move(edges);
  return simulation;
}
