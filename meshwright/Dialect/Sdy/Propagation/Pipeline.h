//===- Pipeline.h - From annotations to shardings everywhere ----*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_DIALECT_SDY_PROPAGATION_PIPELINE_H
#define MESHWRIGHT_DIALECT_SDY_PROPAGATION_PIPELINE_H

#include "mlir/Pass/PassManager.h"

namespace mlir::sdy {

struct PropagationOptions {
  /// Keep sharding groups and constraints: another partitioner reads the
  /// program again.
  bool avoidExportForPartitioning = false;
};

/// Brings a module into the form that shardings propagate through.
void addImportPipeline(OpPassManager &passes);

/// Takes a propagated module out of that form again and closes all shardings.
void addExportPipeline(OpPassManager &passes,
                       const PropagationOptions &options);

/// What comes before propagation.
void addPropagationPreparation(OpPassManager &passes);

/// Import, propagation and export.
void addPropagationPipeline(OpPassManager &passes,
                            const PropagationOptions &options);

/// Makes `sdy-import-pipeline`, `sdy-export-pipeline` and
/// `sdy-propagation-pipeline` known to pass pipelines.
void registerSdyPipelines();

} // namespace mlir::sdy

#endif
