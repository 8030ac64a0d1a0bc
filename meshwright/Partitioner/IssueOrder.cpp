//===- IssueOrder.cpp - The order in which a program is issued ------------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

#include "meshwright/Partitioner/IssueOrder.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/Sequence.h"
#include <algorithm>

using namespace mlir;
using namespace meshwright;

static double countDevices(const ExportedProgram::Mesh &mesh) {
  double devices = 1;
  for (sdy::MeshAxisAttr axis : mesh.shape.getAxes())
    devices *= static_cast<double>(axis.getSize());
  return devices;
}

/// FLOPs per device of each fragment; at least a hundredth of the mean.
static std::vector<double> findCosts(const ExportedProgram &program) {
  std::vector<double> costs;
  double sum = 0;
  for (const ExportedProgram::Fragment &fragment : program.fragments) {
    costs.push_back(fragment.flops /
                    countDevices(program.meshes[fragment.mesh]));
    sum += costs.back();
  }
  double least = sum > 0 ? sum / static_cast<double>(costs.size()) / 100 : 1.0;
  for (double &cost : costs)
    cost = std::max(cost, least);
  return costs;
}

std::vector<unsigned> meshwright::findIssueOrder(const ExportedProgram &program,
                                                 ArrayRef<unsigned> sorted,
                                                 const SharedMeshes &sharing) {
  std::vector<double> costs = findCosts(program);
  std::vector<double> ready(program.values.size(), 0);
  std::vector<double> free(program.meshes.size(), 0), last = free;
  // An item that needs another starts no earlier and is after it in `sorted`,
  // so equal times are settled by that.
  std::vector<double> starts;
  for (unsigned index : sorted) {
    const ExportedProgram::Item &item = program.items[index];
    double start = std::max(last[item->fromMesh], last[item->toMesh]);
    for (unsigned value : item.operands)
      start = std::max(start, ready[value]);
    double stop = start;
    if (item->fragment) {
      start = std::max(start, free[item->toMesh]);
      stop = start + costs[*item->fragment];
      free[item->toMesh] = stop;
      if (!sharing.empty())
        for (unsigned other : sharing[item->toMesh])
          free[other] = stop;
    }
    for (unsigned value : item.results)
      ready[value] = stop;
    last[item->fromMesh] = last[item->toMesh] = start;
    starts.push_back(start);
  }
  auto places = llvm::to_vector(llvm::seq<size_t>(0, sorted.size()));
  llvm::sort(places, [&](size_t a, size_t b) {
    return std::pair(starts[a], a) < std::pair(starts[b], b);
  });
  std::vector<unsigned> order;
  for (size_t place : places)
    order.push_back(sorted[place]);
  return order;
}

std::vector<unsigned> meshwright::findIssueOrder(const ExportedProgram &program,
                                                 const SharedMeshes &sharing) {
  auto listed = llvm::seq<unsigned>(0, program.items.size());
  // Times of a device are better than FLOPs.
  if (program.isInStartOrder && sharing.empty())
    return std::vector<unsigned>(listed.begin(), listed.end());
  return findIssueOrder(program, llvm::to_vector(listed), sharing);
}
