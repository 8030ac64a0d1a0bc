//===- ConsistentDemands.cpp - Demands that data flow allows --------------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// In a sequence a, b, c of which b needs c, the neighbours a, b and b, c do not
// imply that a comes before c. So each unit is put behind the nearest before it
// in the sequence that it may be put behind, and that is not known to precede
// it; then behind the next one, and so on. What precedes whom is a set of bits
// for each unit, those of one mesh numbered along its sequences, so that a
// handful of operations on words find the next one.
//
//===----------------------------------------------------------------------===//

#include "meshwright/Optimize/ConsistentDemands.h"
#include "llvm/ADT/STLExtras.h"
#include <numeric>

using namespace mlir;
using namespace mlir::mpmd;
using meshwright::Demands;
using meshwright::Place;

static SmallVector<Operation *, 2> getOps(const MeshUnits &units,
                                          ArrayRef<unsigned> indices) {
  SmallVector<Operation *, 2> ops;
  for (unsigned index : indices)
    ops.push_back(FragmentOp(units.fragments[index]));
  return ops;
}

SmallVector<OrderGroup> mlir::mpmd::getGroups(ArrayRef<OrderedMesh> meshes) {
  SmallVector<OrderGroup> groups;
  for (const OrderedMesh &mesh : meshes)
    mesh.demands.forEachGroup(mesh.units.items, [&](ArrayRef<unsigned> before,
                                                    ArrayRef<unsigned> after) {
      groups.push_back({getOps(mesh.units, before), getOps(mesh.units, after)});
    });
  return groups;
}

namespace {
/// Sets of the units of one mesh, one in each row.
class UnitSets {
public:
  UnitSets(size_t numRows, size_t numUnits)
      : numWords((numUnits + 63) / 64), words(numRows * numWords) {}

  MutableArrayRef<uint64_t> operator[](size_t row) {
    return MutableArrayRef(words).slice(row * numWords, numWords);
  }
  bool test(size_t row, unsigned unit) const {
    return words[row * numWords + unit / 64] >> (unit % 64) & 1;
  }
  void set(size_t row, unsigned unit) {
    words[row * numWords + unit / 64] |= uint64_t(1) << (unit % 64);
  }

private:
  size_t numWords;
  std::vector<uint64_t> words;
};

/// The demands of one mesh, its units numbered along the sequences.
class MeshOrderer {
public:
  MeshOrderer(const BlockDependencies &graph, const OrderedMesh &mesh,
              SmallVectorImpl<OrderGroup> &groups, DemandConflicts &conflicts)
      : graph(graph), mesh(mesh), groups(groups), conflicts(conflicts),
        size(mesh.units.items.size()), places(size), preceding(size, size),
        following(size, size) {}

  void run() {
    numberUnits();
    findDataFlow();
    orderSequences();
    orderRows();
  }

private:
  void numberUnits();
  void findDataFlow();
  void orderSequences();
  void orderUnit(unsigned number, unsigned first, unsigned last);
  void orderRows();

  FragmentOp getFragment(unsigned number) const {
    return mesh.units.fragments[units[number]];
  }
  void addConflict(unsigned before, unsigned after) {
    if (conflicts.count++ == 0) {
      conflicts.first = getFragment(before);
      conflicts.second = getFragment(after);
    }
  }

  const BlockDependencies &graph;
  const OrderedMesh &mesh;
  SmallVectorImpl<OrderGroup> &groups;
  DemandConflicts &conflicts;
  size_t size;
  std::vector<std::optional<Place>> places; ///< By number.
  std::vector<unsigned> units;              ///< The unit of a number.
  std::vector<unsigned> numbers;            ///< The number of a unit.
  UnitSets preceding; ///< By data flow, and what has been ordered so far.
  UnitSets following; ///< By data flow.
};
} // namespace

/// Units without a place come last.
void MeshOrderer::numberUnits() {
  std::vector<std::optional<Place>> found(size);
  if (mesh.demands.findPlace)
    for (auto [place, item] : llvm::zip(found, mesh.units.items))
      place = mesh.demands.findPlace(item);
  units.resize(size);
  std::iota(units.begin(), units.end(), 0);
  llvm::sort(units, [&](unsigned a, unsigned b) {
    if (!found[a] || !found[b])
      return std::pair(!found[a], a) < std::pair(!found[b], b);
    return std::tie(found[a]->sequence, found[a]->key, a) <
           std::tie(found[b]->sequence, found[b]->key, b);
  });
  numbers.resize(size);
  for (auto [number, unit] : llvm::enumerate(units)) {
    numbers[unit] = number;
    places[number] = found[unit];
  }
}

/// Which units of the mesh precede each op; one walk along the block.
void MeshOrderer::findDataFlow() {
  std::vector<std::optional<unsigned>> unitAt(graph.getPositionCount());
  for (auto [unit, fragment] : llvm::enumerate(mesh.units.fragments))
    unitAt[graph.getPosition(fragment)] = numbers[unit];
  UnitSets ofOps(graph.getPositionCount(), size);
  for (unsigned position = 0; position < unitAt.size(); ++position) {
    MutableArrayRef<uint64_t> set = ofOps[position];
    std::optional<unsigned> unit = unitAt[position];
    if (unit)
      llvm::copy(set, preceding[*unit].begin());
    for (unsigned reader : graph.getSuccessors(position)) {
      for (auto [word, more] : llvm::zip(ofOps[reader], set))
        word |= more;
      if (unit)
        ofOps.set(reader, *unit);
    }
  }
  for (unsigned number = 0; number < size; ++number)
    for (unsigned other = 0; other < size; ++other)
      if (preceding.test(number, other))
        following.set(other, number);
}

/// Puts a unit behind those with the numbers from `first` up to `last`.
void MeshOrderer::orderUnit(unsigned number, unsigned first, unsigned last) {
  MutableArrayRef<uint64_t> known = preceding[number];
  ArrayRef<uint64_t> contradicted = following[number];
  for (unsigned word = (last + 63) / 64; word-- > first / 64;) {
    uint64_t demanded = ~uint64_t(0);
    if (word == first / 64)
      demanded &= ~uint64_t(0) << (first % 64);
    if (word == last / 64)
      demanded &= (uint64_t(1) << (last % 64)) - 1;
    for (uint64_t left = demanded & contradicted[word]; left; left &= left - 1)
      addConflict(word * 64 + llvm::countr_zero(left), number);
    while (uint64_t left = demanded & ~contradicted[word] & ~known[word]) {
      unsigned other = word * 64 + 63 - llvm::countl_zero(left);
      groups.push_back({{getFragment(other)}, {getFragment(number)}});
      for (auto [bits, more] : llvm::zip(known, preceding[other]))
        bits |= more;
      preceding.set(number, other);
    }
  }
}

void MeshOrderer::orderSequences() {
  unsigned sequenceStart = 0, tieStart = 0;
  for (unsigned number = 0; number < size && places[number]; ++number) {
    const Place &place = *places[number];
    if (number > 0 && places[number - 1]->sequence != place.sequence)
      sequenceStart = tieStart = number;
    else if (number > 0 && places[number - 1]->key != place.key)
      tieStart = number;
    if (sequenceStart < tieStart)
      orderUnit(number, sequenceStart, tieStart);
  }
}

/// The demands that are no sequences.
void MeshOrderer::orderRows() {
  Demands rows = mesh.demands;
  rows.findPlace = nullptr;
  rows.forEachGroup(mesh.units.items, [&](ArrayRef<unsigned> before,
                                          ArrayRef<unsigned> after) {
    auto isContradicted = [&](unsigned first, unsigned second) {
      return following.test(numbers[second], numbers[first]);
    };
    bool isAny = false;
    for (unsigned first : before)
      for (unsigned second : after)
        if (isContradicted(first, second)) {
          isAny = true;
          addConflict(numbers[first], numbers[second]);
        }
    if (!isAny) {
      groups.push_back({getOps(mesh.units, before), getOps(mesh.units, after)});
      return;
    }
    for (unsigned first : before)
      for (unsigned second : after)
        if (!isContradicted(first, second))
          groups.push_back(
              {getOps(mesh.units, first), getOps(mesh.units, second)});
  });
}

SmallVector<OrderGroup>
mlir::mpmd::getConsistentGroups(const BlockDependencies &graph,
                                ArrayRef<OrderedMesh> meshes,
                                DemandConflicts &conflicts) {
  SmallVector<OrderGroup> groups;
  for (const OrderedMesh &mesh : meshes)
    MeshOrderer(graph, mesh, groups, conflicts).run();
  return groups;
}
