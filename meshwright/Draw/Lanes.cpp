//===- Lanes.cpp ----------------------------------------------------------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

#include "meshwright/Draw/Lanes.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SmallVector.h"

using namespace meshwright;

namespace {
/// Bars of a lane that overlap, each at least one of the others.
struct Group {
  std::vector<uint32_t> bars;
  llvm::SmallVector<double, 2> ends; ///< Of the last bar in each slot.
  double end = 0;
};
} // namespace

static void finishGroup(Group &group, Lanes &lanes) {
  for (uint32_t bar : group.bars)
    lanes.slots[bar] = group.ends.size();
  group = Group();
}

static void addToGroup(uint32_t id, double start, double stop, Group &group,
                       Lanes &lanes) {
  constexpr size_t kMostSlots = 8;
  if (group.end <= start)
    finishGroup(group, lanes);
  size_t slot =
      llvm::find_if(group.ends, [&](double end) { return end <= start; }) -
      group.ends.begin();
  if (slot == group.ends.size() && slot < kMostSlots)
    group.ends.push_back(0);
  slot = std::min(slot, kMostSlots - 1);
  group.ends[slot] = std::max(group.ends[slot], stop);
  group.end = std::max(group.end, stop);
  group.bars.push_back(id);
  lanes.slot[id] = slot;
}

Lanes meshwright::findLanes(llvm::ArrayRef<Drawing::Bar> bars,
                            size_t numMeshes) {
  std::vector<uint32_t> order(bars.size());
  for (uint32_t i = 0; i < order.size(); ++i)
    order[i] = i;
  llvm::sort(order, [&](uint32_t a, uint32_t b) {
    return std::make_pair(bars[a].start, a) < std::make_pair(bars[b].start, b);
  });
  Lanes lanes;
  lanes.slot.resize(bars.size());
  lanes.slots.resize(bars.size());
  std::vector<std::array<Group, 2>> groups(numMeshes);
  for (uint32_t id : order) {
    const Drawing::Bar &bar = bars[id];
    // Times that were added up in another order differ in their last digits.
    double start = bar.start + 1e-9 * bar.stop;
    addToGroup(id, start, bar.stop, groups[bar.mesh][Lanes::getLane(bar)],
               lanes);
  }
  for (auto &lanesOfMesh : groups)
    for (Group &group : lanesOfMesh)
      finishGroup(group, lanes);
  return lanes;
}
