//===- Pipeline.h - From named computations to fragments --------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_IMPORT_PIPELINE_H
#define MESHWRIGHT_IMPORT_PIPELINE_H

#include "meshwright/Calls/InlinedSize.h"
#include "meshwright/Import/Place/MeshAssignment.h"
#include "mlir/Pass/PassManager.h"
#include <vector>

namespace mlir::mpmd {

struct ImportOptions {
  /// Meshes and stages of named computations and named tensors.
  NameAssignment nameAssignment;
  /// Meshes of the arguments and results of the entry function.
  IndexAssignment inputAssignment;
  IndexAssignment outputAssignment;
  /// Arguments and results to be placed alike.
  std::vector<InputOutputConstraint> constraints;
  /// Leave merging of inferred fragments to the optimize pipeline, behind the
  /// schedule.
  bool mergeAfterScheduling = false;
  /// Meshes may differ; shardings tell theirs by a prefix of the axes.
  bool enableHeterogeneousMeshes = false;
  /// Absorb inferred fragments into user fragments in entry functions, too.
  bool absorbInferredFragmentsOnEntryPoint = false;

  /// How many operations inlining may make of calls in calls.
  int64_t maxInlinedOps = meshwright::kMaxInlinedOps;

  // Mesh inference, see InferMeshOptions.
  bool inferTransfers = false;
  bool inferCrossMeshReductions = false;
  bool copyBetweenMemories = false;
  int maxClones = 1;
  int errorLimit = 5;
  /// Say which large inputs inference brought elsewhere.
  bool reportPlacement = false;

  /// Split off what backward fragments need not compute before a transfer.
  bool splitBwdFragments = false;
  /// Fail if a scheduling unit is not one fragment per mesh and microbatch.
  bool verifySchedulingUnits = false;
};

/// Adds the passes that turn a program of named computations into one of
/// fragments and transfers.
void addImportPasses(OpPassManager &pm, const ImportOptions &options);

/// Adds those passes at the beginning of import that may refuse a program
/// whatever meshes its names are assigned to. Needs a topology, of any meshes.
void addImportChecks(OpPassManager &pm, const ImportOptions &options);

/// Registers `mpmd-import-pipeline`.
void registerImportPipeline();

} // namespace mlir::mpmd

#endif
