//===- UnitConstraints.h - What is required of which units ------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_OPTIMIZE_SCHEDULER_UNITCONSTRAINTS_H
#define MESHWRIGHT_OPTIMIZE_SCHEDULER_UNITCONSTRAINTS_H

#include "meshwright/Optimize/Scheduler/SchedulingUnits.h"
#include "meshwright/Order/BlockSort.h"

namespace mlir::mpmd {

/// The units of a mesh, and what the schedule requires of them.
struct OrderedMesh {
  MeshUnits units;
  meshwright::Constraints constraints;
};

/// Groups that imply all that is required of the meshes, whose units are among that many
/// ops.
OrderConstraints getConstraints(unsigned numOps, ArrayRef<OrderedMesh> meshes);

inline constexpr unsigned kNone = ~0u;

/// A unit among those of all meshes, which are numbered in program order.
struct OrderedUnit {
  unsigned position; ///< In the block.
  unsigned mesh;     ///< Among the ordered meshes.
  unsigned index;    ///< Among the units of its mesh.
  unsigned chain = kNone;
  /// In its chain, from 1: of two units of a chain the one of lower rank is
  /// required to be first.
  unsigned rank = 0;
};

/// The constraints between units, for questions about single units.
class UnitConstraints {
public:
  UnitConstraints(const BlockGraph &graph, ArrayRef<OrderedMesh> meshes);

  ArrayRef<OrderedUnit> getUnits() const { return units; }
  /// The unit at a position of the block, or `kNone`.
  unsigned getUnitAt(unsigned position) const { return unitAt[position]; }
  /// The highest rank in each chain.
  ArrayRef<unsigned> getChains() const { return lastRanks; }
  size_t getMeshCount() const { return meshes.size(); }
  const OrderedMesh &getMesh(unsigned mesh) const { return meshes[mesh]; }
  /// The units of a mesh, in program order.
  ArrayRef<unsigned> getUnitsOf(unsigned mesh) const { return unitsOf[mesh]; }

  const meshwright::WorkItem &getItem(unsigned unit) const {
    return meshes[units[unit].mesh].units.items[units[unit].index];
  }
  FragmentOp getFragment(unsigned unit) const {
    return meshes[units[unit].mesh].units.fragments[units[unit].index];
  }

  bool isOfLowerRank(unsigned first, unsigned second) const {
    const OrderedUnit &a = units[first], &b = units[second];
    return a.chain != kNone && a.chain == b.chain && a.rank < b.rank;
  }

  /// Calls `visit` with units that are to come before, or after, a unit for
  /// another reason than its rank.
  using Visitor = llvm::function_ref<void(ArrayRef<unsigned>)>;
  void forEachBefore(unsigned unit, Visitor visit) const;
  void forEachAfter(unsigned unit, Visitor visit) const;

private:
  using Key = std::pair<meshwright::WorkKind, int64_t>;

  Key getKey(unsigned unit) const {
    return {getItem(unit).kind, getItem(unit).microbatch};
  }
  ArrayRef<unsigned> find(unsigned mesh, Key first, Key end) const;
  void addChains(unsigned mesh);
  EdgeTable findOffsets() const;

  ArrayRef<OrderedMesh> meshes;
  std::vector<OrderedUnit> units;
  std::vector<unsigned> unitAt, lastRanks;
  std::vector<std::vector<unsigned>> unitsOf;
  std::vector<std::vector<unsigned>> byKey; ///< Of each mesh.
  std::optional<EdgeTable> offsets;         ///< Which unit precedes which.
};

} // namespace mlir::mpmd

#endif
