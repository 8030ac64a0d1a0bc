//===- ConsistentDemands.h - Demands that data flow allows ------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_OPTIMIZE_CONSISTENTDEMANDS_H
#define MESHWRIGHT_OPTIMIZE_CONSISTENTDEMANDS_H

#include "meshwright/Common/BlockSort.h"
#include "meshwright/Optimize/BlockDependencies.h"
#include "meshwright/Optimize/SchedulingUnits.h"

namespace mlir::mpmd {

/// The units of a mesh, and what the schedule demands of them.
struct OrderedMesh {
  MeshUnits units;
  meshwright::Demands demands;
};

/// What is demanded, but is the other way round by data flow.
struct DemandConflicts {
  uint64_t count = 0;
  FragmentOp first, second; ///< One such pair; `first` needs `second`.
};

/// Groups that imply all that is demanded of the meshes.
SmallVector<OrderGroup> getGroups(ArrayRef<OrderedMesh> meshes);

/// Groups that, together with the data flow, imply all that is demanded of the
/// meshes but for the pairs that data flow orders the other way, which are
/// counted. The demands that are left may still contradict each other.
///
/// Cost: for each mesh, a set of its units for each op, so linear in the ops
/// times a 64th of the units of a mesh.
SmallVector<OrderGroup> getConsistentGroups(const BlockDependencies &graph,
                                            ArrayRef<OrderedMesh> meshes,
                                            DemandConflicts &conflicts);

} // namespace mlir::mpmd

#endif
