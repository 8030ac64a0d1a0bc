//===- Pipeline.cpp - From named computations to fragments ----------------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// Four steps, of which each relies on what the one before has established:
//
//   prepare    plain helpers are inlined, loops unrolled; every callee that is
//              left is an MPMD function with the topology of its caller
//   place      names become fragments, inputs and outputs get meshes, values
//              that change mesh are transferred
//   infer      everything else gets a mesh
//   clean up   fragments are merged, calls inlined, scheduling units formed
//
//===----------------------------------------------------------------------===//

#include "meshwright/Import/Pipeline.h"
#include "meshwright/Dialect/CHLO/Transforms/Passes.h"
#include "meshwright/Dialect/Sdy/Propagation/Passes.h"
#include "meshwright/Dialect/StableHLO/Transforms/Passes.h"
#include "meshwright/Fragments/Merge/Passes.h"
#include "meshwright/Fragments/Share/Passes.h"
#include "meshwright/Fragments/Simplify/Passes.h"
#include "meshwright/Fragments/Split/Passes.h"
#include "meshwright/Import/Conditionals/Passes.h"
#include "meshwright/Import/InferMesh/InferMeshPipeline.h"
#include "meshwright/Import/InferMesh/Passes.h"
#include "meshwright/Import/Inline/Passes.h"
#include "meshwright/Import/Locality/Passes.h"
#include "meshwright/Import/Place/Passes.h"
#include "meshwright/Import/Prepare/Passes.h"
#include "meshwright/Import/Units/Passes.h"
#include "meshwright/Text/OptionTable.h"
#include "mlir/Pass/PassOptions.h"
#include "mlir/Pass/PassRegistry.h"
#include "mlir/Transforms/Passes.h"
#include "llvm/ADT/StringMap.h"

using namespace mlir;
using namespace mlir::mpmd;

/// Adds a pass on every function.
static void addOnFunctions(OpPassManager &pm, std::unique_ptr<Pass> pass) {
  pm.addNestedPass<func::FuncOp>(std::move(pass));
}

/// The first canonicalization removes unreachable blocks. In a region of one block,
/// canonicalization removes what is dead by itself.
static std::unique_ptr<Pass> createLaterCanonicalizerPass() {
  GreedyRewriteConfig config;
  config.setRegionSimplificationLevel(GreedySimplifyRegionLevel::Disabled);
  return createCanonicalizerPass(config);
}

static void addInlining(OpPassManager &pm, const ImportOptions &options) {
  pm.addPass(createVerifyProgramPass({options.maxInlinedOps}));
  addOnFunctions(pm, chlo::createLegalizeToStablehloPass());
  pm.addPass(createExpandCompositesWithEffectsPass());
  OpPassManager callee(func::FuncOp::getOperationName());
  callee.addPass(createCanonicalizePass());
  llvm::StringMap<OpPassManager> callees;
  callees.try_emplace(func::FuncOp::getOperationName(), std::move(callee));
  pm.addPass(createInlinerPass(std::move(callees)));
  pm.addPass(createInlineNestedCallsPass({options.maxInlinedOps}));
}

void mpmd::addImportChecks(OpPassManager &pm, const ImportOptions &options) {
  addInlining(pm, options);
  pm.addPass(createCopyTopologyFromMainPass());
  addOnFunctions(pm, createUnrollForLoopsPass({options.maxInlinedOps}));
  addOnFunctions(pm, createValidateNamedOpsInMpmdFuncPass());
}

static void addPreparation(OpPassManager &pm, const ImportOptions &options) {
  addInlining(pm, options);
  addOnFunctions(pm, createCSEPass());
  addOnFunctions(pm, createCanonicalizePass());
  pm.addPass(createCopyTopologyFromMainPass());
  if (options.enableHeterogeneousMeshes)
    pm.addPass(createGenerateSdyMeshesFromTopologyPass());
  addOnFunctions(pm, createUnrollForLoopsPass({options.maxInlinedOps}));
  addOnFunctions(pm, createLaterCanonicalizerPass());
  stablehlo::TargetIndependentOptimizationPassOptions optimization;
  optimization.foldOpElementLimit = 0;
  addOnFunctions(
      pm, stablehlo::createTargetIndependentOptimizationPass(optimization));
  addOnFunctions(pm, createFromUnrollToCallCounterPass({/*eraseOthers=*/true}));
  pm.addPass(createSinkNegligibleOpsIntoCallOpPass());
  addOnFunctions(pm, createInsertNamelessCloneOfNegligibleOpsPass());
  if (options.repeatViews)
    addOnFunctions(pm, createRepeatViewsPass());
  addOnFunctions(pm, createSimplifyNamedComputationsPass());
}

static void addPlacement(OpPassManager &pm, const ImportOptions &options) {
  pm.addPass(createMapInputOutputToMeshPass(
      {options.inputAssignment, options.outputAssignment}));
  addOnFunctions(
      pm, createInlineNestedUserExposedOpsPass({options.nameAssignment}));
  addOnFunctions(pm, createValidateNamedOpsInMpmdFuncPass());
  addOnFunctions(pm, createMapNamedOpsToMpmdOpsPass({options.nameAssignment}));
  pm.addPass(createIntroduceTransfersPass());
  pm.addPass(createEraseUnusedCalleeBlockArgumentsPass());
  bool sendsLittle = options.inferTransfers && options.minimizeTransfers;
  if (sendsLittle)
    pm.addPass(createUnrollLoopsPass());
  pm.addPass(createSplitConditionalsPass({sendsLittle}));
  if (sendsLittle) {
    pm.addPass(createSplitBarriersPass());
    pm.addPass(createSplitConcatenationsPass());
    pm.addPass(createMinimizeTransfersPass());
  }
}

static void addInference(OpPassManager &pm, const ImportOptions &options) {
  InferMeshOptions inference;
  inference.inferTransfers = options.inferTransfers;
  inference.inferCrossMeshReductions = options.inferCrossMeshReductions;
  inference.copyBetweenMemories = options.copyBetweenMemories;
  inference.keepInitValues = options.keepInitValues;
  inference.maxClones = options.maxClones;
  inference.errorLimit = options.errorLimit;
  inference.constraints = options.constraints;
  addInferMeshPasses(pm, inference);
  if (options.reportPlacement)
    pm.addPass(createReportPlacementPass({options.inputAssignment}));
}

/// The reference lets a forward unit wait for an update; so do textual pipelines.
static MergeInferredFragmentsPassOptions
getMergeOptions(const ImportOptions &options) {
  MergeInferredFragmentsPassOptions merge;
  merge.keepForwardApart = options.minimizeTransfers;
  merge.keepUnitsAlike = options.keepUnitsAlike;
  return merge;
}

static void addMerging(OpPassManager &pm, const ImportOptions &options) {
  addOnFunctions(pm, createAbsorbInferredFragmentsPass(
                         {options.absorbInferredFragmentsOnEntryPoint}));
  MergeInferredFragmentsPassOptions anyConsumer = getMergeOptions(options);
  MergeInferredFragmentsPassOptions sideways = anyConsumer;
  anyConsumer.mergeAnyConsumer = true;
  addOnFunctions(pm, createMergeInferredFragmentsPass(anyConsumer));
  sideways.mergeSideways = true;
  addOnFunctions(pm, createMergeInferredFragmentsPass(sideways));
}

static void addCleanUp(OpPassManager &pm, const ImportOptions &options,
                       bool shares) {
  if (!options.mergeAfterScheduling)
    addMerging(pm, options);
  EnforceInputOutputEquishardingPassOptions equisharding;
  equisharding.constraints.assign(options.constraints.begin(),
                                  options.constraints.end());
  addOnFunctions(
      pm, createEnforceInputOutputEquishardingPass(std::move(equisharding)));
  addOnFunctions(pm, createFragmentDedupPass());
  addOnFunctions(pm, createFragmentDcePass());
  addOnFunctions(pm, createRemoveTransferCyclesPass());
  // Whether a symbol is used is found out while its users are few. The location
  // of a fragment names the call, its ops need not repeat it.
  pm.addPass(sdy::createRemoveUnusedSymbolsPass());
  if (shares) {
    pm.addPass(
        createShareBodiesPass({/*forPropagation=*/true, /*inCallees=*/true}));
  }
  pm.addPass(
      createCallInlinePass({/*eraseCallees=*/true, /*markNestedLocs=*/false}));
  if (!options.mergeAfterScheduling)
    addOnFunctions(pm,
                   createMergeInferredFragmentsPass(getMergeOptions(options)));
}

static void addSchedulingUnits(OpPassManager &pm,
                               const ImportOptions &options) {
  addOnFunctions(pm, createMoveTransfersToProducerPass());
  addOnFunctions(pm, createMergeUserFragmentsIntoSchedulingUnitsPass());
  if (options.verifySchedulingUnits)
    addOnFunctions(pm, createSchedulingUnitsVerifierPass());
  if (!options.splitBwdFragments)
    return;
  addOnFunctions(
      pm, createSplitBwdFragmentsPass({options.splitManualComputations}));
  pm.addPass(createLaterCanonicalizerPass());
  addOnFunctions(pm, createFragmentDcePass());
}

void mpmd::addImportPasses(OpPassManager &pm, const ImportOptions &options,
                           bool shares) {
  addPreparation(pm, options);
  addPlacement(pm, options);
  addInference(pm, options);
  addCleanUp(pm, options, shares && !options.splitBwdFragments);
  addSchedulingUnits(pm, options);
  if (shares) {
    // Sums of gradients have joined what computes them.
    pm.addPass(createShareBodiesPass({/*forPropagation=*/true}));
  }
}

#define MESHWRIGHT_OPTIONS ImportOptions
#define MESHWRIGHT_OPTIONS_TABLE "meshwright/Import/Options.def"
#include "meshwright/Text/TextualOptions.inc"

void mpmd::registerImportPipeline() {
  registerPhase("mpmd-import-pipeline",
                "Turns named computations into fragments and transfers",
                [](OpPassManager &passes, const ImportOptions &options) {
                  addImportPasses(passes, options);
                });
}
