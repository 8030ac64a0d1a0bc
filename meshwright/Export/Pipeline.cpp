//===- Pipeline.cpp - The export phase ------------------------------------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// Clean up, mark, lower. What fragments may share with each other and reuse of
// each other's memory is marked on them as late as possible, when their number,
// order and contents are settled; functions are made of marked fragments.
//
//===----------------------------------------------------------------------===//

#include "meshwright/Export/Pipeline.h"
#include "meshwright/Export/Passes.h"
#include "meshwright/Fragments/Merge/Passes.h"
#include "meshwright/Fragments/Share/Passes.h"
#include "meshwright/Fragments/Simplify/Passes.h"
#include "meshwright/Text/OptionTable.h"
#include "mlir/Pass/PassOptions.h"
#include "mlir/Pass/PassRegistry.h"
#include "mlir/Transforms/Passes.h"

using namespace mlir;
using namespace mlir::mpmd;

/// A batch that is cut into fewer parts is cut once: the kernels that units would get take
/// as long to compile as those that they replace.
static constexpr int64_t kMinPartsToSlice = 16;

static void addCleanup(OpPassManager &passes, const ExportOptions &options) {
  passes.addPass(createShareBodiesPass());
  passes.addNestedPass<func::FuncOp>(createCSEPass());
  if (options.copyConstantsFromProducerToConsumer)
    passes.addNestedPass<func::FuncOp>(createCopyConstantsPass());
  GreedyRewriteConfig canonicalization;
  canonicalization.setRegionSimplificationLevel(
      GreedySimplifyRegionLevel::Disabled);
  passes.addNestedPass<func::FuncOp>(createCanonicalizerPass(canonicalization));
  // What canonicalization has found out about the results of bodies.
  passes.addPass(createShareBodiesPass());
  passes.addNestedPass<func::FuncOp>(createFragmentDedupPass());
  if (options.applyMergeTransfers) {
    passes.addNestedPass<func::FuncOp>(createMergeTransfersPass());
    passes.addNestedPass<func::FuncOp>(createFragmentDedupPass());
    passes.addNestedPass<func::FuncOp>(createCSEPass());
  }
  passes.addNestedPass<func::FuncOp>(createFragmentDcePass());
  passes.addNestedPass<func::FuncOp>(createUniquifyFunctionInputsOutputsPass());
  MergeInferredFragmentsPassOptions merge;
  merge.keepUnitsAlike = options.keepUnitsAlike;
  passes.addNestedPass<func::FuncOp>(createMergeInferredFragmentsPass(merge));
  if (options.keepUnitsAlike) {
    passes.addNestedPass<func::FuncOp>(createRestoreDuplicateOperandsPass());
    // The parts of a batch may wait in host memory, all of it may not.
    if (options.offloadActivations.empty())
      passes.addNestedPass<func::FuncOp>(
          createSliceInUnitsPass({kMinPartsToSlice}));
  }
}

static void addMarking(OpPassManager &passes, const ExportOptions &options) {
  passes.addPass(createMarkOffloadedInputOutputPass());
  passes.addNestedPass<func::FuncOp>(createMarkInputOutputWithLayoutsPass());
  passes.addNestedPass<func::FuncOp>(createDelayInferredFragmentsPass());
  passes.addNestedPass<func::FuncOp>(createDelayTransfersFromCpuPass());
  passes.addNestedPass<func::FuncOp>(createSinkCreateTokenIntoFragmentsPass());
  // What follows takes the parts of a pair together.
  passes.addPass(createFuseOverlappedPairsPass({options.fuseOverlappedPairs,
                                                /*onlyWithCollectives=*/true,
                                                {options.device},
                                                {options.customCosts}}));
  // Results that nothing reads have layouts of their own, if any.
  if (options.keepUnitsAlike)
    passes.addNestedPass<func::FuncOp>(createAlignBetweenMeshesPass());
  passes.addNestedPass<func::FuncOp>(createMarkAliasingAndDonationPass());
  // Times of what is offloaded count from these.
  if (!options.receiveAhead.empty())
    passes.addNestedPass<func::FuncOp>(
        createDelayReceivesPass({{options.receiveAhead}}));
  // Takes programs as they are: operands keep their types and marks.
  if (!options.offloadActivations.empty())
    passes.addPass(createOffloadActivationsPass({{options.offloadActivations},
                                                 {options.device},
                                                 {options.customCosts}}));
  passes.addNestedPass<func::FuncOp>(createMarkFragmentReservedMemoryPass());
}

static void addLowering(OpPassManager &passes, const ExportOptions &options) {
  passes.addNestedPass<func::FuncOp>(createValidateNoParamTransfersPass(
      {options.failOnParamTransfers, options.paramTransferPattern}));
  passes.addNestedPass<func::FuncOp>(
      createValidateNoInferredFragmentsPass({options.failOnInferredFragments}));

  passes.addPass(createLowerToFragmentCallsPass({options.verboseLogging}));

  passes.addPass(createValidateNoReshardsPass(
      {options.failOnReshardOnlyFragments, options.ignorePassThrough}));
  passes.addNestedPass<func::FuncOp>(
      createValidateNoBackwardDepsPass({options.failOnBackwardDeps}));
}

void mpmd::addExportPipeline(OpPassManager &passes,
                             const ExportOptions &options) {
  addCleanup(passes, options);
  addMarking(passes, options);
  addLowering(passes, options);
}

#define MESHWRIGHT_OPTIONS ExportOptions
#define MESHWRIGHT_OPTIONS_TABLE "meshwright/Export/Options.def"
#include "meshwright/Text/TextualOptions.inc"

void mpmd::registerExportPipeline() {
  registerPhase(
      "mpmd-export-pipeline",
      "Turns fragments into calls of one function per distinct computation",
      addExportPipeline);
}
