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

struct OptimizeOptions {
#define MESHWRIGHT_OPTION(TYPE, FIELD, TEXT, KEY, PIPELINE, FRONT, HELP)       \
  TYPE FIELD = PIPELINE;
#define MESHWRIGHT_LIST_OPTION(TYPE, FIELD, TEXT, KEY, HELP)                   \
  std::vector<TYPE> FIELD;
#include "meshwright/Optimize/Options.def"
};

/// Prints the options in braces, as the textual pipeline takes them.
llvm::raw_ostream &operator<<(llvm::raw_ostream &os,
                              const OptimizeOptions &options);

/// Schedules the fragments that import has made, then merges and recomputes.
void addOptimizePipeline(OpPassManager &passes, const OptimizeOptions &options);

/// Makes `mpmd-optimize-pipeline` known to pass pipelines.
void registerOptimizePipeline();

} // namespace mlir::mpmd

#endif
