//===- Pipeline.h - The optimize phase --------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_OPTIMIZE_PIPELINE_H
#define MESHWRIGHT_OPTIMIZE_PIPELINE_H

#include "meshwright/Optimize/Rules/FragmentRules.h"
#include "meshwright/Optimize/Scheduler/ScheduleOption.h"
#include "mlir/Pass/PassManager.h"
#include <vector>

namespace mlir::mpmd {

#define MESHWRIGHT_OPTIONS OptimizeOptions
#define MESHWRIGHT_OPTIONS_TABLE "meshwright/Optimize/Options.def"
#include "meshwright/Text/PhaseOptions.inc"

/// Schedules the fragments that import has made, then merges and recomputes.
void addOptimizePipeline(OpPassManager &passes, const OptimizeOptions &options);

/// Makes `mpmd-optimize-pipeline` known to pass pipelines.
void registerOptimizePipeline();

} // namespace mlir::mpmd

#endif
