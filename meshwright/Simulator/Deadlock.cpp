//===- Deadlock.cpp - Who waits for whom ----------------------------------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

#include "meshwright/Simulator/Run.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"

using namespace meshwright;

std::string Run::describe(uint32_t item) const {
  const Workload::Activity &activity = workload.getActivity(item);
  std::string text = activity.name;
  int32_t microbatch = workload.items[item].microbatch;
  if (microbatch >= 0)
    text += " of microbatch " + std::to_string(microbatch);
  return text;
}

uint32_t Run::findMissing(uint32_t item) const {
  uint32_t previous = getPrevious(item);
  if (previous != kNoItem && !hasTimes[previous])
    return previous;
  uint32_t after = workload.getAfter(item);
  if (after != kNoItem && !hasTimes[after])
    return after;
  for (uint32_t value : workload.getOperands(item))
    if (uint32_t producer = workload.values[value].producer;
        producer != kNoItem && !hasTimes[producer])
      return producer;
  // It has not been issued: the thread waits for a run.
  const Workload::Activity &activity = workload.getActivity(item);
  for (uint32_t mesh : {activity.mesh, activity.source}) {
    const Issuer &issuer = issuers[workload.meshes[mesh].issuer];
    if (issuer.next == issuer.items.size())
      continue;
    uint32_t next = issuer.items[issuer.next];
    for (uint32_t gate : {getAwaited(next), getGate(next)})
      if (gate != kNoItem && !hasTimes[gate])
        return gate;
  }
  return kNoItem;
}

llvm::Error Run::explainDeadlock() const {
  uint32_t item = llvm::find(hasTimes, false) - hasTimes.begin();
  std::vector<uint32_t> path;
  std::vector<uint32_t> seenAt(workload.items.size(), kNoItem);
  while (seenAt[item] == kNoItem) {
    seenAt[item] = path.size();
    path.push_back(item);
    item = findMissing(item);
  }
  path.erase(path.begin(), path.begin() + seenAt[item]);
  // Where a mesh is, and the run of another mesh that it waits for: what
  // is between the two is after the latter in a queue, or on its way.
  llvm::SmallVector<std::string> waits;
  auto isRun = [&](uint32_t i) { return position[i] != kNoItem; };
  size_t first = llvm::find_if(path, isRun) - path.begin();
  std::rotate(path.begin(), path.begin() + first, path.end());
  for (size_t i = 0; i < path.size(); ++i) {
    uint32_t waiting = path[i];
    uint32_t next = path[(i + 1) % path.size()];
    if (!isRun(waiting) || next == getPrevious(waiting))
      continue;
    size_t j = i + 1;
    while (!isRun(path[j % path.size()]))
      ++j;
    uint32_t missing = path[j % path.size()];
    waits.push_back(
        "mesh " + workload.meshes[workload.getActivity(waiting).mesh].name +
        " waits at " + describe(waiting) + " for " + describe(missing) +
        " on mesh " + workload.meshes[workload.getActivity(missing).mesh].name);
  }
  return llvm::createStringError("deadlock: " + llvm::join(waits, "; "));
}
