//===- IssueOrder.cpp - The order in which a program is issued ------------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

#include "meshwright/Simulator/ProgramWorkload.h"
#include "meshwright/Simulator/Simulation.h"
#include "llvm/ADT/STLExtras.h"
#include <algorithm>
#include <numeric>

using namespace meshwright;

/// FLOPs per device of each fragment; at least a hundredth of the mean.
static std::vector<double> findCosts(const ExportedProgram &program,
                                     const Workload &workload) {
  std::vector<double> costs;
  double sum = 0;
  for (const ExportedProgram::Fragment &fragment : program.fragments) {
    costs.push_back(
        fragment.flops /
        static_cast<double>(workload.meshes[fragment.mesh].devices));
    sum += costs.back();
  }
  double least = sum > 0 ? sum / static_cast<double>(costs.size()) / 100 : 1.0;
  for (double &cost : costs)
    cost = std::max(cost, least);
  return costs;
}

/// An order that keeps those of the meshes and the data flow.
static llvm::Expected<std::vector<uint32_t>>
sortItems(const Workload &workload) {
  Workload steps = workload;
  steps.issueOrder.clear();
  steps.linksContend = false;
  // Items of the same moment are in order if each takes some time.
  for (Workload::Activity &activity : steps.activities) {
    activity.duration = 1;
    activity.latency = 0;
  }
  llvm::Expected<Simulation> found = simulate(steps);
  if (!found)
    return found.takeError();
  std::vector<uint32_t> order(workload.items.size());
  std::iota(order.begin(), order.end(), 0);
  llvm::sort(order, [&](uint32_t a, uint32_t b) {
    return std::make_pair(found->start[a], a) <
           std::make_pair(found->start[b], b);
  });
  return order;
}

llvm::Expected<std::vector<uint32_t>>
meshwright::findIssueOrder(const ExportedProgram &program,
                           const Workload &workload) {
  llvm::Expected<std::vector<uint32_t>> sorted = sortItems(workload);
  if (!sorted)
    return sorted;
  std::vector<double> costs = findCosts(program, workload);
  std::vector<double> ready(program.values.size(), 0);
  std::vector<double> free(program.meshes.size(), 0), last = free;
  std::vector<double> starts(program.items.size(), 0);
  for (uint32_t index : *sorted) {
    const ExportedProgram::Item &item = program.items[index];
    double start = std::max(last[item.fromMesh], last[item.toMesh]);
    for (unsigned value : item.operands)
      start = std::max(start, ready[value]);
    double stop = start;
    if (item.fragment) {
      start = std::max(start, free[item.toMesh]);
      stop = start + costs[*item.fragment];
      free[item.toMesh] = stop;
    }
    for (unsigned value : item.results)
      ready[value] = stop;
    last[item.fromMesh] = last[item.toMesh] = starts[index] = start;
  }
  std::vector<uint32_t> place(sorted->size());
  for (auto [index, item] : llvm::enumerate(*sorted))
    place[item] = index;
  llvm::sort(*sorted, [&](uint32_t a, uint32_t b) {
    return std::make_pair(starts[a], place[a]) <
           std::make_pair(starts[b], place[b]);
  });
  return sorted;
}
