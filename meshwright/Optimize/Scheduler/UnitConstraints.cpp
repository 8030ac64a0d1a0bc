//===- UnitConstraints.cpp - What is required of which units --------------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

#include "meshwright/Optimize/Scheduler/UnitConstraints.h"
#include "llvm/ADT/STLExtras.h"
#include <limits>

using namespace mlir;
using namespace mlir::mpmd;
using meshwright::OffsetRule;
using meshwright::Place;
using meshwright::WarmUpRule;
using meshwright::WorkItem;

OrderConstraints mlir::mpmd::getConstraints(unsigned numOps,
                                            ArrayRef<OrderedMesh> meshes) {
  OrderConstraints constraints(numOps);
  SmallVector<unsigned> first, second;
  for (const OrderedMesh &mesh : meshes) {
    auto fill = [&](SmallVector<unsigned> &positions,
                    ArrayRef<unsigned> indices) {
      positions.clear();
      for (unsigned index : indices)
        positions.push_back(mesh.units.positions[index]);
    };
    mesh.constraints.forEachGroup(
        mesh.units.items,
        [&](ArrayRef<unsigned> before, ArrayRef<unsigned> after) {
          fill(first, before);
          fill(second, after);
          constraints.add(first, second);
        });
  }
  return constraints;
}

UnitConstraints::UnitConstraints(const BlockGraph &graph,
                                 ArrayRef<OrderedMesh> meshes)
    : meshes(meshes), unitAt(graph.size(), kNone), unitsOf(meshes.size()) {
  for (auto [mesh, ordered] : llvm::enumerate(meshes))
    for (auto [index, position] : llvm::enumerate(ordered.units.positions))
      units.push_back({position, static_cast<unsigned>(mesh),
                       static_cast<unsigned>(index)});
  llvm::sort(units, [](const OrderedUnit &a, const OrderedUnit &b) {
    return a.position < b.position;
  });
  for (auto [number, unit] : llvm::enumerate(units)) {
    unitAt[unit.position] = number;
    unitsOf[unit.mesh].push_back(number);
  }
  byKey = unitsOf;
  for (unsigned mesh = 0; mesh < meshes.size(); ++mesh) {
    llvm::sort(byKey[mesh], [&](unsigned a, unsigned b) {
      return std::pair(getKey(a), a) < std::pair(getKey(b), b);
    });
    addChains(mesh);
  }
  offsets = findOffsets();
}

/// Each sequence of a mesh is a chain.
void UnitConstraints::addChains(unsigned mesh) {
  if (!meshes[mesh].constraints.findPlace)
    return;
  std::vector<std::pair<Place, unsigned>> placed;
  for (unsigned unit : unitsOf[mesh])
    if (auto place = meshes[mesh].constraints.findPlace(getItem(unit)))
      placed.emplace_back(*place, unit);
  llvm::sort(placed, [](const auto &a, const auto &b) {
    return std::tie(a.first.sequence, a.first.key, a.second) <
           std::tie(b.first.sequence, b.first.key, b.second);
  });
  const Place *last = nullptr;
  for (auto &[place, unit] : placed) {
    if (!last || last->sequence != place.sequence)
      lastRanks.push_back(1);
    else if (last->key != place.key)
      ++lastRanks.back();
    units[unit].chain = lastRanks.size() - 1;
    units[unit].rank = lastRanks.back();
    last = &place;
  }
}

/// The units of a mesh from one key up to another.
ArrayRef<unsigned> UnitConstraints::find(unsigned mesh, Key first,
                                         Key end) const {
  auto isBelow = [&](unsigned unit, const Key &key) {
    return getKey(unit) < key;
  };
  ArrayRef<unsigned> sorted = byKey[mesh];
  const unsigned *begin = llvm::lower_bound(sorted, first, isBelow);
  return {begin, std::lower_bound(begin, sorted.end(), end, isBelow)};
}

EdgeTable UnitConstraints::findOffsets() const {
  std::vector<EdgeTable::Edge> edges;
  for (unsigned unit = 0; unit < units.size(); ++unit) {
    const WorkItem &item = getItem(unit);
    unsigned mesh = units[unit].mesh;
    for (const OffsetRule &rule : meshes[mesh].constraints.offsets) {
      int64_t microbatch = item.microbatch - rule.ahead;
      if (rule.first == item.kind)
        for (unsigned partner : find(mesh, {rule.second, microbatch},
                                     {rule.second, microbatch + 1}))
          edges.emplace_back(unit, partner);
    }
  }
  return EdgeTable(edges, units.size());
}

void UnitConstraints::forEachBefore(unsigned unit, Visitor visit) const {
  const WorkItem &item = getItem(unit);
  unsigned mesh = units[unit].mesh;
  for (const OffsetRule &rule : meshes[mesh].constraints.offsets)
    if (rule.second == item.kind) {
      int64_t microbatch = item.microbatch + rule.ahead;
      visit(find(mesh, {rule.first, microbatch}, {rule.first, microbatch + 1}));
    }
  for (const WarmUpRule &rule : meshes[mesh].constraints.warmUps)
    if (rule.second == item.kind)
      visit(find(mesh, {rule.first, 0}, {rule.first, rule.limit}));
}

void UnitConstraints::forEachAfter(unsigned unit, Visitor visit) const {
  visit((*offsets)[unit]);
  const WorkItem &item = getItem(unit);
  unsigned mesh = units[unit].mesh;
  for (const WarmUpRule &rule : meshes[mesh].constraints.warmUps)
    if (rule.first == item.kind && item.microbatch < rule.limit)
      visit(find(mesh, {rule.second, 0},
                 {rule.second, std::numeric_limits<int64_t>::max()}));
}
