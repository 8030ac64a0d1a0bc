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

#define MESHWRIGHT_OPTIONS ImportOptions
#define MESHWRIGHT_OPTIONS_TABLE "meshwright/Import/Options.def"
#include "meshwright/Text/PhaseOptions.inc"

/// Adds the passes that turn a program of named computations into one of
/// fragments and transfers. With `shares`, fragments may share bodies at the end,
/// as the shard phase expects.
void addImportPasses(OpPassManager &pm, const ImportOptions &options,
                     bool shares = false);

/// Adds those passes at the beginning of import that may refuse a program
/// whatever meshes its names are assigned to. Needs a topology, of any meshes.
void addImportChecks(OpPassManager &pm, const ImportOptions &options);

/// Registers `mpmd-import-pipeline`.
void registerImportPipeline();

} // namespace mlir::mpmd

#endif
