//===- IssueOrder.cpp - The order in which a program is issued ------------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

#include "meshwright/Partitioner/IssueOrder.h"
#include "meshwright/Simulator/ProgramWorkload.h"
#include "meshwright/Simulator/Simulation.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/Sequence.h"

using namespace meshwright;

/// An order that keeps those of the meshes, which differ from the program's, and
/// the data flow.
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
  auto items = llvm::seq<uint32_t>(0, workload.items.size());
  std::vector<uint32_t> order(items.begin(), items.end());
  llvm::sort(order, [&](uint32_t a, uint32_t b) {
    return std::pair(found->start[a], a) < std::pair(found->start[b], b);
  });
  return order;
}

llvm::Expected<std::vector<uint32_t>>
meshwright::findIssueOrder(const ExportedProgram &program,
                           const Workload &workload) {
  if (llvm::all_of(program.meshes, [](const ExportedProgram::Mesh &mesh) {
        return llvm::is_sorted(mesh.items);
      }))
    return findIssueOrder(program);
  llvm::Expected<std::vector<uint32_t>> sorted = sortItems(workload);
  if (!sorted)
    return sorted;
  return findIssueOrder(program, *sorted);
}
