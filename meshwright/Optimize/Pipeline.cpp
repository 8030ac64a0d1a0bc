//===- Pipeline.cpp - The optimize phase ----------------------------------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// Rules merge before anything else does, while fragments still have the origins
// that rules go by; the order that a schedule demands lives in the IR until
// then. Recomputed fragments come after scheduling and need no place in it.
//
//===----------------------------------------------------------------------===//

#include "meshwright/Optimize/Pipeline.h"
#include "meshwright/Fragments/Merge/Passes.h"
#include "meshwright/Optimize/Passes.h"
#include "meshwright/Optimize/Rules/Passes.h"
#include "meshwright/Optimize/Scheduler/Passes.h"
#include "mlir/Pass/PassRegistry.h"

using namespace mlir;
using namespace mlir::mpmd;

static void addScheduling(OpPassManager &passes,
                          const OptimizeOptions &options) {
  bool isLastToNeedOrder = options.mergeRules.empty();
  if (!options.scheduleRules.empty()) {
    RuleBasedSchedulePassOptions schedule;
    schedule.rules = options.scheduleRules;
    schedule.reportMisfits = options.reportMisfits;
    schedule.removeDependencies = isLastToNeedOrder;
    passes.addNestedPass<func::FuncOp>(createRuleBasedSchedulePass(schedule));
  } else {
    PipelineSchedulerPassOptions schedule;
    schedule.mustHappenBefore = options.schedule;
    schedule.completeByPlan = options.completeByPlan;
    schedule.reportMisfits = options.reportMisfits;
    schedule.removeDependencies = isLastToNeedOrder;
    passes.addNestedPass<func::FuncOp>(createPipelineSchedulerPass(schedule));
  }
  if (isLastToNeedOrder)
    return;
  RuleBasedMergePassOptions merge;
  merge.rules = options.mergeRules;
  merge.removeControlDependencies = true;
  passes.addNestedPass<func::FuncOp>(createRuleBasedMergePass(merge));
}

static void addMergingOfInferred(OpPassManager &passes,
                                 const OptimizeOptions &options) {
  AbsorbInferredFragmentsPassOptions absorb;
  absorb.absorbOnEntryPointFunction = options.absorbOnEntryPoint;
  passes.addNestedPass<func::FuncOp>(createAbsorbInferredFragmentsPass(absorb));
  MergeInferredFragmentsPassOptions anyConsumer, sideways;
  anyConsumer.mergeAnyConsumer = true;
  passes.addNestedPass<func::FuncOp>(
      createMergeInferredFragmentsPass(anyConsumer));
  sideways.mergeSideways = true;
  passes.addNestedPass<func::FuncOp>(
      createMergeInferredFragmentsPass(sideways));
  if (!options.completeByPlan || !options.scheduleRules.empty())
    return;
  // What was merged stands where the last of its parts stood.
  PipelineSchedulerPassOptions schedule;
  schedule.mustHappenBefore = options.schedule;
  schedule.onlyRestore = true;
  passes.addNestedPass<func::FuncOp>(createPipelineSchedulerPass(schedule));
}

void mpmd::addOptimizePipeline(OpPassManager &passes,
                               const OptimizeOptions &options) {
  addScheduling(passes, options);
  if (options.applyRemat) {
    RematFragmentPassOptions remat;
    remat.mergeRematFragments = options.mergeRematFragments;
    passes.addNestedPass<func::FuncOp>(createRematFragmentPass(remat));
  }
  passes.addNestedPass<func::FuncOp>(createVerifyStageMergingPass());
  if (options.mergeAfterScheduling)
    addMergingOfInferred(passes, options);
  if (options.mergeForwardWithBackward)
    passes.addNestedPass<func::FuncOp>(createMergeForwardWithBackwardPass());
}

namespace {
struct TextualOptions : PassPipelineOptions<TextualOptions> {
  Option<bool> mergeAfterScheduling{
      *this, "merge-after-scheduling",
      llvm::cl::desc("Merge inferred fragments after scheduling."),
      llvm::cl::init(false)};
  Option<PrefixedScheduleOption> schedule{
      *this, "pipeline-schedule",
      llvm::cl::desc("The order of fragments on each mesh: none, 1F1B, "
                     "Circular, builtin:NAME or file:PATH."),
      llvm::cl::init(PrefixedScheduleOption{getDefaultSchedule()})};
};
} // namespace

void mpmd::registerOptimizePipeline() {
  PassPipelineRegistration<TextualOptions>(
      "mpmd-optimize-pipeline", "Schedules, merges and recomputes fragments",
      [](OpPassManager &passes, const TextualOptions &textual) {
        OptimizeOptions options;
        options.mergeAfterScheduling = textual.mergeAfterScheduling;
        options.schedule = textual.schedule.getValue();
        addOptimizePipeline(passes, options);
      });
}
