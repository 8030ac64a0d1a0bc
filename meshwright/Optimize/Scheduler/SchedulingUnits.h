//===- SchedulingUnits.h - What a schedule orders ---------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_OPTIMIZE_SCHEDULER_SCHEDULINGUNITS_H
#define MESHWRIGHT_OPTIMIZE_SCHEDULER_SCHEDULINGUNITS_H

#include "meshwright/Dialect/Mpmd/MpmdDialect.h"
#include "meshwright/Order/BlockGraph.h"
#include "meshwright/Schedule/Schedule.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace mlir::mpmd {

/// The scheduling units of one mesh, in program order: the fragments, where
/// they are, and what schedules see of them.
struct MeshUnits {
  StringAttr meshName;
  meshwright::MeshPosition mesh;
  SmallVector<FragmentOp> fragments;
  SmallVector<unsigned> positions; ///< In the block.
  SmallVector<meshwright::WorkItem> items;

  /// Meshes of the CPU take no part in a pipeline.
  bool isInPipeline() const { return mesh.index >= 0; }
};

/// The meshes of a topology by their names, without units. Those that are no part of the
/// pipeline have the index -1.
SmallVector<MeshUnits> listMeshes(MLIRContext *context,
                                  ArrayRef<StringRef> names);

/// The units directly in the body of `func`, whose graph is given, by mesh, in
/// the order of the topology; also meshes without units.
SmallVector<MeshUnits> collectUnits(func::FuncOp func, const BlockGraph &graph);

} // namespace mlir::mpmd

#endif
