//===- Pipeline.h - The export phase ----------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_EXPORT_PIPELINE_H
#define MESHWRIGHT_EXPORT_PIPELINE_H

#include "mlir/Pass/PassManager.h"
#include <string>
#include <vector>

namespace mlir::mpmd {

#define MESHWRIGHT_OPTIONS ExportOptions
#define MESHWRIGHT_OPTIONS_TABLE "meshwright/Export/Options.def"
#include "meshwright/Text/PhaseOptions.inc"

/// Adds the passes that turn the fragments of a program with shardings in its
/// types into calls of one function per distinct computation.
void addExportPipeline(OpPassManager &passes, const ExportOptions &options);

/// Makes `mpmd-export-pipeline` known to pass pipelines.
void registerExportPipeline();

} // namespace mlir::mpmd

#endif
