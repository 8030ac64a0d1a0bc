//===- InferMeshPipeline.h - All of mesh inference --------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_IMPORT_INFERMESH_INFERMESHPIPELINE_H
#define MESHWRIGHT_IMPORT_INFERMESH_INFERMESHPIPELINE_H

#include "meshwright/Import/Place/MeshAssignment.h"
#include "mlir/Pass/PassManager.h"
#include <vector>

namespace mlir::mpmd {

struct InferMeshOptions {
  /// Add transfers wherever a value is needed on a mesh where it is not.
  /// Implies the next option.
  bool inferTransfers = false;
  /// Compute sums of values on different meshes as reductions across meshes.
  bool inferCrossMeshReductions = false;
  /// Copy an argument that is needed in several memories; without it that is an
  /// error.
  bool copyBetweenMemories = false;
  /// The init value of a reduction over meshes is one more operand where it makes a
  /// difference; without it, it is dropped.
  bool keepInitValues = false;
  /// Into how many fragments an op may be cloned that is not cheap to repeat.
  int maxClones = 1;
  /// After how many errors to stop; -1 for never.
  int errorLimit = 5;
  /// Arguments and results to put on the same mesh.
  std::vector<InputOutputConstraint> constraints;
};

/// Adds the passes that give every value of a module a mesh.
void addInferMeshPasses(OpPassManager &pm, const InferMeshOptions &options);

/// Registers `mpmd-infer-mesh-pipeline`.
void registerInferMeshPipeline();

} // namespace mlir::mpmd

#endif
