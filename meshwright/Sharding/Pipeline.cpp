//===- Pipeline.cpp - The shard phase -------------------------------------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// Propagation knows attributes, not types. So each position of the signature
// first gets a value of its own, then shardings are propagated and put right
// where they meet the signature and where transfers cannot follow, and only
// then they move into the types. What is left over in the bodies, constants
// above all, is cleaned up at the end.
//
//===----------------------------------------------------------------------===//

#include "meshwright/Sharding/Pipeline.h"
#include "meshwright/Dialect/Sdy/Propagation/Pipeline.h"
#include "meshwright/Fragments/Simplify/Passes.h"
#include "meshwright/Sharding/DumpModule.h"
#include "meshwright/Sharding/Passes.h"
#include "mlir/Pass/PassRegistry.h"

using namespace mlir;
using namespace mlir::mpmd;

void mpmd::addShardingPropagationPipeline(
    OpPassManager &passes, const ShardingPropagationOptions &options) {
  auto dump = [&](StringRef name) {
    if (!options.dumpDirectory.empty())
      passes.addPass(createDumpModulePass(options.dumpDirectory, name));
  };
  UniquifyFunctionInputsOutputsPassOptions uniquify;
  uniquify.useTransferInsteadOfFragment = true;
  passes.addNestedPass<func::FuncOp>(
      createUniquifyFunctionInputsOutputsPass(uniquify));
  auto retarget = [&](bool warn) {
    if (options.retarget)
      passes.addPass(createRetargetShardingsPass({warn}));
  };
  retarget(/*warn=*/true);

  sdy::PropagationOptions propagation;
  propagation.avoidExportForPartitioning = true;
  dump("before_propagation");
  sdy::addPropagationPipeline(passes, propagation);
  dump("after_propagation");

  passes.addNestedPass<func::FuncOp>(createPopulateUnreducedOutShardingPass());
  passes.addNestedPass<func::FuncOp>(createEnforceUserShardingsPass());
  passes.addNestedPass<func::FuncOp>(
      createExtractReshardsFromInterMeshTransfersPass());
  // A reshard has the sharding of the other mesh, and what is propagated comes
  // from the user's shardings, of which nothing more need be said.
  retarget(/*warn=*/false);
  passes.addNestedPass<func::FuncOp>(
      createConvertSdyShardingsToMpmdTypesPass());
  passes.addNestedPass<func::FuncOp>(createConvertSdyConstantsPass());
  passes.addNestedPass<func::FuncOp>(createOptimizeDistinctBodiesPass());
  // The pass before has left nothing to fold.
  SimplifyProgramPassOptions simplify;
  simplify.skipBodies = true;
  passes.addNestedPass<func::FuncOp>(createSimplifyProgramPass(simplify));
}

void mpmd::registerShardingPropagationPipeline() {
  PassPipelineRegistration<>(
      "mpmd-sharding-propagation-pipeline",
      "Spreads shardings over the program and moves them into types",
      [](OpPassManager &passes) {
        addShardingPropagationPipeline(passes, {});
      });
}
