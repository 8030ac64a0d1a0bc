//===- Pipeline.cpp - The optimize phase ----------------------------------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// Rules merge before anything else does, while fragments still have the origins
// that rules go by; the order that a schedule requires lives in the IR until
// then. Recomputed fragments come after scheduling and need no place in it.
//
//===----------------------------------------------------------------------===//

#include "meshwright/Optimize/Pipeline.h"
#include "meshwright/Fragments/Merge/Passes.h"
#include "meshwright/Fragments/Simplify/Passes.h"
#include "meshwright/Optimize/Passes.h"
#include "meshwright/Optimize/Rules/Passes.h"
#include "meshwright/Optimize/Scheduler/Passes.h"
#include "meshwright/Text/OptionTable.h"
#include "mlir/Pass/PassOptions.h"
#include "mlir/Pass/PassRegistry.h"

using namespace mlir;
using namespace mlir::mpmd;

static void addScheduling(OpPassManager &passes,
                          const OptimizeOptions &options) {
  bool isLastToNeedOrder = options.mergeRules.empty();
  if (!options.scheduleRules.empty()) {
    RuleBasedSchedulePassOptions schedule;
    llvm::append_range(schedule.rules, options.scheduleRules);
    schedule.reportUnmet = options.reportUnmet;
    schedule.removeDependencies = isLastToNeedOrder;
    passes.addNestedPass<func::FuncOp>(createRuleBasedSchedulePass(schedule));
  } else {
    PipelineSchedulerPassOptions schedule;
    schedule.mustHappenBefore = options.schedule;
    schedule.device = options.scheduleDevice;
    schedule.profile = options.scheduleProfile;
    schedule.customCosts = options.customCosts;
    schedule.memory = options.scheduleMemory;
    schedule.othersUseDevice = options.othersUseDevice;
    schedule.addScheduleDependencies = options.completeSchedule;
    schedule.reportUnmet = options.reportUnmet;
    schedule.microbatchPasses = options.microbatchPasses;
    schedule.removeDependencies = isLastToNeedOrder;
    passes.addNestedPass<func::FuncOp>(createPipelineSchedulerPass(schedule));
  }
  if (isLastToNeedOrder)
    return;
  RuleBasedMergePassOptions merge;
  llvm::append_range(merge.rules, options.mergeRules);
  merge.removeControlDependencies = true;
  passes.addNestedPass<func::FuncOp>(createRuleBasedMergePass(merge));
}

static void addMergingOfInferred(OpPassManager &passes,
                                 const OptimizeOptions &options) {
  passes.addNestedPass<func::FuncOp>(
      createAbsorbInferredFragmentsPass({options.absorbOnEntryPoint}));
  MergeInferredFragmentsPassOptions anyConsumer, sideways;
  anyConsumer.keepUnitsAlike = sideways.keepUnitsAlike = options.keepUnitsAlike;
  anyConsumer.mergeAnyConsumer = true;
  passes.addNestedPass<func::FuncOp>(
      createMergeInferredFragmentsPass(anyConsumer));
  sideways.mergeSideways = true;
  passes.addNestedPass<func::FuncOp>(
      createMergeInferredFragmentsPass(sideways));
  if (!options.completeSchedule || !options.scheduleRules.empty())
    return;
  // What was merged is where the last of its parts was.
  PipelineSchedulerPassOptions schedule;
  schedule.mustHappenBefore = options.schedule;
  schedule.onlyRestore = true;
  passes.addNestedPass<func::FuncOp>(createPipelineSchedulerPass(schedule));
}

void mpmd::addOptimizePipeline(OpPassManager &passes,
                               const OptimizeOptions &options) {
  addScheduling(passes, options);
  if (options.applyRemat) {
    passes.addNestedPass<func::FuncOp>(
        createRematFragmentPass({options.mergeRematFragments}));
  }
  passes.addNestedPass<func::FuncOp>(createVerifyStageMergingPass());
  if (options.mergeAfterScheduling)
    addMergingOfInferred(passes, options);
  if (options.accumulateInUnits) {
    passes.addNestedPass<func::FuncOp>(createAccumulateInUnitsPass());
    passes.addNestedPass<func::FuncOp>(createFragmentDcePass());
  }
  if (options.mergeForwardWithBackward)
    passes.addNestedPass<func::FuncOp>(createMergeForwardWithBackwardPass());
}

template <> struct meshwright::OptionTextOf<ScheduleOption> {
  using type = PrefixedScheduleOption;
};
#define MESHWRIGHT_OPTIONS OptimizeOptions
#define MESHWRIGHT_OPTIONS_TABLE "meshwright/Optimize/Options.def"
#include "meshwright/Text/TextualOptions.inc"

void mpmd::registerOptimizePipeline() {
  registerPhase("mpmd-optimize-pipeline",
                "Schedules, merges and recomputes fragments",
                addOptimizePipeline);
}
