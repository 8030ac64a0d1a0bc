//===- Pipeline.h - The optimize phase --------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_OPTIMIZE_PIPELINE_H
#define MESHWRIGHT_OPTIMIZE_PIPELINE_H

#include "meshwright/Optimize/Rules/FragmentRules.h"
#include "meshwright/Optimize/Scheduler/ScheduleOption.h"
#include "mlir/Pass/PassManager.h"

namespace mlir::mpmd {

struct OptimizeOptions {
  SmallVector<FragmentMergeRule> mergeRules;
  SmallVector<FragmentScheduleRule> scheduleRules;
  /// Used when there are no schedule rules.
  ScheduleOption schedule = {meshwright::findSchedule("GPipe"), nullptr, ""};
  /// Merge inferred fragments here; import must then leave them alone.
  bool mergeAfterScheduling = false;
  bool applyRemat = false;
  bool mergeRematFragments = false;
  bool mergeForwardWithBackward = false;
  bool absorbOnEntryPoint = false;
  /// Where a zero-bubble relation leaves pairs open, order them by its plan.
  bool completeByPlan = false;
  /// Warn about rules that fit nothing, and where data flow contradicts them or
  /// the schedule.
  bool reportMisfits = false;
};

/// Schedules the fragments that import has made, then merges and recomputes.
void addOptimizePipeline(OpPassManager &passes, const OptimizeOptions &options);

/// Makes `mpmd-optimize-pipeline` known to pass pipelines.
void registerOptimizePipeline();

} // namespace mlir::mpmd

#endif
