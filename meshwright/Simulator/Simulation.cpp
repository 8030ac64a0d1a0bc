//===- Simulation.cpp - When everything runs, and what it takes -----------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

#include "meshwright/Simulator/Simulation.h"
#include "meshwright/Cost/TensorBytes.h"
#include "meshwright/Simulator/Run.h"
#include "meshwright/Simulator/Times.h"
#include "llvm/ADT/STLExtras.h"
#include <algorithm>
#include <limits>
#include <map>

using namespace meshwright;

static void summarizeMeshes(const Workload &workload, Simulation &simulation) {
  simulation.meshes.resize(workload.meshes.size());
  for (auto [mesh, queue] : llvm::zip(simulation.meshes, workload.queues)) {
    for (uint32_t item : queue)
      mesh.busy += workload.getActivity(item).duration;
    mesh.bubble = getIdlePart(mesh.busy, simulation.makespan);
    if (queue.empty())
      continue;
    mesh.firstStart = simulation.start[queue.front()];
    mesh.lastStop = simulation.stop[queue.back()];
  }
}

static void summarizeEdges(const Workload &workload, Simulation &simulation) {
  std::map<std::tuple<uint32_t, uint32_t, HostWay>, Simulation::Edge> edges;
  for (uint32_t item = 0; item < workload.items.size(); ++item) {
    const Workload::Activity &activity = workload.getActivity(item);
    if (!activity.isTransfer())
      continue;
    auto [entry, isNew] = edges.try_emplace(
        {activity.source, activity.mesh, activity.hostWay},
        Simulation::Edge{activity.source, activity.mesh, activity.hostWay});
    Simulation::Edge &edge = entry->second;
    edge.slack = isNew ? simulation.slack[item]
                       : std::min(edge.slack, simulation.slack[item]);
    addCount(edge.bytes, activity.bytes);
    addCount(edge.busy, activity.duration);
    ++edge.transfers;
  }
  for (const auto &[ends, edge] : edges)
    simulation.edges.push_back(edge);
}

std::pair<std::string, std::string>
meshwright::getEndNames(const Workload &workload,
                        const Simulation::Edge &edge) {
  constexpr llvm::StringLiteral kHost = "#pinned_host";
  std::string source = workload.meshes[edge.source].name;
  std::string target = workload.meshes[edge.target].name;
  if (edge.hostWay == HostWay::There)
    target += kHost;
  if (edge.hostWay == HostWay::Back)
    source += kHost;
  return {source, target};
}

static void findCriticalPath(const Workload &workload, Simulation &simulation) {
  if (simulation.stop.empty())
    return;
  uint32_t item = llvm::find(simulation.stop, simulation.makespan) -
                  simulation.stop.begin();
  for (; item != kNoItem; item = simulation.waitedFor[item])
    simulation.criticalPath.push_back(
        {item, workload.items[item].activity, workload.items[item].microbatch,
         simulation.start[item], simulation.stop[item]});
  std::reverse(simulation.criticalPath.begin(), simulation.criticalPath.end());
}

static double findUtilization(const Workload &workload, Ticks makespan) {
  if (workload.peakFlops <= 0 || makespan == 0)
    return -1;
  double flops = 0, devices = 0;
  for (const std::vector<uint32_t> &queue : workload.queues)
    for (uint32_t item : queue)
      flops += workload.getActivity(item).flops;
  for (const Workload::Mesh &mesh : workload.meshes)
    devices += static_cast<double>(mesh.devices);
  double seconds = static_cast<double>(makespan) / kTicksPerSecond;
  // Work may go beyond all numbers.
  return std::min(flops / (workload.peakFlops * devices * seconds),
                  std::numeric_limits<double>::max());
}

double Simulation::getBubble() const {
  double sum = 0;
  for (const Mesh &mesh : meshes)
    sum += mesh.bubble;
  return meshes.empty() ? 0 : sum / static_cast<double>(meshes.size());
}

llvm::Expected<Simulation> meshwright::simulate(const Workload &workload,
                                                bool withLevels) {
  Simulation simulation;
  {
    Run run(workload, simulation);
    if (llvm::Error error = run.run())
      return error;
    run.findSlack();
  }
  summarizeMeshes(workload, simulation);
  summarizeEdges(workload, simulation);
  findCriticalPath(workload, simulation);
  simulation.utilization = findUtilization(workload, simulation.makespan);
  accountMemory(workload, simulation, withLevels);
  return simulation;
}
