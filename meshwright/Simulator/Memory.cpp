//===- Memory.cpp - What each mesh holds when -----------------------------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// A value takes its place when its producer starts, and leaves it when its last
// reader ends. A reader that was given the buffer frees it at its start, or
// hands it to a result; with the result's own place from then on, both are the
// same.
//
//===----------------------------------------------------------------------===//

#include "meshwright/Cost/TensorBytes.h"
#include "meshwright/Simulator/HeldMemory.h"
#include "meshwright/Simulator/Run.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringMap.h"
#include <algorithm>

using namespace meshwright;

namespace {
/// The values of one mesh, and when each is there.
class MeshMemory {
public:
  MeshMemory(const Workload &workload, Simulation &simulation,
             const std::vector<Ticks> &ends, uint32_t mesh)
      : workload(workload), simulation(simulation), ends(ends), mesh(mesh) {}

  void account(llvm::ArrayRef<uint32_t> values, bool withLevels);

private:
  Ticks getBegin(const Workload::Value &value) const {
    return value.producer == kNoItem ? 0 : simulation.start[value.producer];
  }
  std::string describe(const Workload::Value &value) const;
  void listPeak(llvm::ArrayRef<uint32_t> values);

  const Workload &workload;
  Simulation &simulation;
  const std::vector<Ticks> &ends;
  uint32_t mesh;
};
} // namespace

std::string MeshMemory::describe(const Workload::Value &value) const {
  if (value.producer == kNoItem)
    return "arguments";
  const Workload::Activity &activity = workload.getActivity(value.producer);
  if (activity.hostWay == HostWay::Back)
    return "back from the host";
  if (activity.isTransfer())
    return "received from " + workload.meshes[activity.source].name;
  return "results of " + activity.name;
}

void MeshMemory::listPeak(llvm::ArrayRef<uint32_t> values) {
  Simulation::Mesh &found = simulation.meshes[mesh];
  llvm::StringMap<int64_t> shares;
  for (uint32_t index : values) {
    const Workload::Value &value = workload.values[index];
    if (getBegin(value) <= found.peakTime && found.peakTime < ends[index])
      addCount(shares[describe(value)], value.bytes);
  }
  for (uint32_t item : workload.queues[mesh]) {
    const Workload::Activity &activity = workload.getActivity(item);
    if (activity.temporaryBytes > 0 &&
        simulation.start[item] <= found.peakTime &&
        found.peakTime < simulation.stop[item])
      addCount(shares["temporaries of " + activity.name],
               activity.temporaryBytes);
  }
  if (workload.meshes[mesh].codeBytes > 0)
    addCount(shares["code"], workload.meshes[mesh].codeBytes);
  found.peak = listShares(shares);
}

void MeshMemory::account(llvm::ArrayRef<uint32_t> values, bool withLevels) {
  HeldMemory memory;
  memory.hold(0, simulation.makespan, workload.meshes[mesh].codeBytes);
  for (uint32_t index : values)
    memory.hold(getBegin(workload.values[index]), ends[index],
                workload.values[index].bytes);
  for (uint32_t item : workload.queues[mesh])
    memory.hold(simulation.start[item], simulation.stop[item],
                workload.getActivity(item).temporaryBytes);
  memory.findPeak(simulation.meshes[mesh], withLevels);
  listPeak(values);
}

/// When the place of each value is free again.
static std::vector<Ticks> findEnds(const Workload &workload,
                                   const Simulation &simulation) {
  std::vector<Ticks> ends;
  ends.reserve(workload.values.size());
  for (const Workload::Value &value : workload.values)
    ends.push_back(value.isKept ? simulation.makespan
                   : value.producer == kNoItem
                       ? 0
                       : simulation.stop[value.producer]);
  for (uint32_t item = 0; item < workload.items.size(); ++item)
    for (uint32_t i = workload.firstOperand[item];
         i < workload.firstOperand[item + 1]; ++i) {
      Ticks end = workload.getFate(i) == Workload::kRead
                      ? simulation.stop[item]
                      : simulation.start[item];
      Ticks &latest = ends[workload.operands[i]];
      latest = std::max(latest, end);
    }
  return ends;
}

void meshwright::accountMemory(const Workload &workload, Simulation &simulation,
                               bool withLevels) {
  std::vector<Ticks> ends = findEnds(workload, simulation);
  // The values of each mesh, side by side.
  std::vector<uint32_t> first(workload.meshes.size() + 1, 0);
  for (const Workload::Value &value : workload.values)
    ++first[value.mesh + 1];
  for (size_t mesh = 0; mesh < workload.meshes.size(); ++mesh)
    first[mesh + 1] += first[mesh];
  std::vector<uint32_t> values(workload.values.size());
  std::vector<uint32_t> next(first.begin(), first.end() - 1);
  for (auto [index, value] : llvm::enumerate(workload.values))
    values[next[value.mesh]++] = index;
  for (uint32_t mesh = 0; mesh < workload.meshes.size(); ++mesh)
    MeshMemory(workload, simulation, ends, mesh)
        .account(llvm::ArrayRef(values).slice(first[mesh],
                                              first[mesh + 1] - first[mesh]),
                 withLevels);
}
