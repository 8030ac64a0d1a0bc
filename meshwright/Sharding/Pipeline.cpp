//===- Pipeline.cpp - The shard phase -------------------------------------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// Propagation knows attributes, not types. So each position of the signature
// first gets a value of its own, then shardings are propagated and put right
// where they meet the signature and where transfers cannot follow, and only
// then they move into the types. What is left over in the bodies, constants
// above all, is cleaned up at the end. What hoists and defers has to see bodies as
// their compiler will: for it, shardings are propagated in them once more.
//
//===----------------------------------------------------------------------===//

#include "meshwright/Sharding/Pipeline.h"
#include "meshwright/Dialect/Sdy/Propagation/Pipeline.h"
#include "meshwright/Fragments/Share/Passes.h"
#include "meshwright/Fragments/Simplify/Passes.h"
#include "meshwright/Sharding/ExplainSharding.h"
#include "meshwright/Sharding/Passes.h"
#include "meshwright/Text/OptionTable.h"
#include "mlir/Pass/PassOptions.h"
#include "mlir/Pass/PassRegistry.h"

using namespace mlir;
using namespace mlir::mpmd;

/// Gives each position of the signature a value, and each sharding the mesh of
/// its value.
static void addMeshPreparation(OpPassManager &passes,
                               const ShardingPropagationOptions &options) {
  UniquifyFunctionInputsOutputsPassOptions uniquify;
  uniquify.useTransferInsteadOfFragment = true;
  passes.addNestedPass<func::FuncOp>(
      createUniquifyFunctionInputsOutputsPass(uniquify));
  if (options.retarget)
    passes.addPass(createRetargetShardingsPass({/*warn=*/true}));
}

void mpmd::addExplainPreparation(OpPassManager &passes,
                                 const ShardingPropagationOptions *options) {
  if (options)
    addMeshPreparation(passes, *options);
  sdy::addPropagationPreparation(passes);
}

void mpmd::addShardingPropagationPipeline(
    OpPassManager &passes, const ShardingPropagationOptions &options,
    bool keepsShared) {
  addMeshPreparation(passes, options);
  ShareBodiesPassOptions share;
  share.forPropagation = true;
  passes.addPass(createShareBodiesPass(share));
  passes.addPass(createLiftArgumentConstraintsPass());

  sdy::PropagationOptions propagation;
  propagation.avoidExportForPartitioning = true;
  sdy::addPropagationPipeline(passes, propagation);
  passes.addPass(createSinkArgumentConstraintsPass());
  bool looksIntoBodies = options.hoistInvariants || options.deferReductions;
  if (looksIntoBodies) {
    passes.addPass(createUnshareBodiesPass());
    passes.addNestedPass<func::FuncOp>(createForgetInnerShardingsPass());
    passes.addPass(createShareBodiesPass(share));
    passes.addPass(createLiftArgumentConstraintsPass());
    sdy::addPropagationPipeline(passes, propagation);
    passes.addPass(createSinkArgumentConstraintsPass());
  }

  passes.addNestedPass<func::FuncOp>(createPopulateUnreducedOutShardingPass());
  passes.addNestedPass<func::FuncOp>(createEnforceUserShardingsPass());
  passes.addPass(createPropagateUnreducedShardingsPass());
  passes.addNestedPass<func::FuncOp>(
      createExtractReshardsFromInterMeshTransfersPass());
  // A reshard has the sharding of the other mesh, and what is propagated comes
  // from the user's shardings, of which nothing more need be said.
  if (options.retarget)
    passes.addPass(createRetargetShardingsPass({/*warn=*/false}));
  // The passes that follow look at single ops, and change some of them.
  if (looksIntoBodies)
    passes.addPass(createUnshareBodiesPass());
  if (options.hoistInvariants)
    passes.addNestedPass<func::FuncOp>(createHoistInvariantComputationsPass(
        {options.hoistBytes, options.deviceMemory, options.device,
         options.deferReductions}));
  if (options.deferReductions)
    passes.addNestedPass<func::FuncOp>(createDeferReductionsPass());
  passes.addNestedPass<func::FuncOp>(
      createConvertSdyShardingsToMpmdTypesPass());
  passes.addNestedPass<func::FuncOp>(createConvertSdyConstantsPass());
  passes.addNestedPass<func::FuncOp>(createOptimizeDistinctBodiesPass());
  // What is known of results by now, and what is equal again.
  passes.addPass(createShareBodiesPass(share));
  // Optimization has left nothing to fold.
  SimplifyProgramPassOptions simplify;
  simplify.skipBodies = true;
  passes.addNestedPass<func::FuncOp>(createSimplifyProgramPass(simplify));
  if (!keepsShared)
    passes.addPass(createUnshareBodiesPass());
}

#define MESHWRIGHT_OPTIONS ShardingPropagationOptions
#define MESHWRIGHT_OPTIONS_TABLE "meshwright/Sharding/Options.def"
#include "meshwright/Text/TextualOptions.inc"

void mpmd::registerShardingPropagationPipeline() {
  registerPhase(
      "mpmd-sharding-propagation-pipeline",
      "Propagates shardings over the program and moves them into types",
      [](OpPassManager &passes, const ShardingPropagationOptions &options) {
        addShardingPropagationPipeline(passes, options);
      });
}
