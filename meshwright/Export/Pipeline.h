//===- Pipeline.h - The export phase ----------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_EXPORT_PIPELINE_H
#define MESHWRIGHT_EXPORT_PIPELINE_H

#include "mlir/Pass/PassManager.h"
#include <string>

namespace mlir::mpmd {

struct ExportOptions {
  /// Compute constants where they are read instead of sending them.
  bool copyConstantsFromProducerToConsumer = false;
  /// Send scalars of one fragment to another in one message.
  bool applyMergeTransfers = false;
  /// Print what each mesh will run.
  bool verboseLogging = false;
  /// Do not report copies that change no sharding.
  bool ignorePassThrough = false;

  // What to fail on instead of warning.
  bool failOnReshardOnlyFragments = false;
  bool failOnBackwardDeps = false;
  bool failOnInferredFragments = true;
  bool failOnParamTransfers = false;
  /// The part of a name that tells parameters of the program.
  std::string paramTransferPattern = "params['transformer";
};

/// Adds the passes that turn the fragments of a program with shardings in its
/// types into calls of one function per distinct computation.
void addExportPipeline(OpPassManager &passes, const ExportOptions &options);

/// Makes `mpmd-export-pipeline` known to pass pipelines.
void registerExportPipeline();

} // namespace mlir::mpmd

#endif
