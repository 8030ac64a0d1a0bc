//===- Pipeline.cpp - From annotations to shardings everywhere ------------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// Import gives every value that is to be sharded on its own a place for its
// sharding: constants are copied for each use, edges get ops, calls bodies.
// After propagation export undoes this, and cuts what cannot be split evenly.
//
//===----------------------------------------------------------------------===//

#include "meshwright/Dialect/Sdy/Propagation/Pipeline.h"
#include "meshwright/Dialect/Sdy/Calls/Passes.h"
#include "meshwright/Dialect/Sdy/Propagation/Passes.h"
#include "meshwright/Dialect/Sdy/Transforms/Passes.h"
#include "mlir/Pass/PassOptions.h"
#include "mlir/Pass/PassRegistry.h"

using namespace mlir;
using namespace mlir::sdy;

void sdy::addImportPipeline(OpPassManager &passes) {
  passes.addPass(createRemoveUnusedSymbolsPass());
  passes.addPass(createLiftInlinedMeshesPass());
  passes.addPass(createRemoveSizeOneAxesPass());
  passes.addPass(createPropagateShardingFromFuncToCallPass());
  passes.addPass(createConstantOrScalarSplitterPass());
  passes.addPass(createRemoveUnusedSymbolsPass());
  passes.addPass(createManualAxesCleanupPass());
  passes.addPass(createAddDataFlowEdgesPass());
}

/// Calls become bodies in place.
static void addCallImport(OpPassManager &passes) {
  passes.addPass(createFlattenCallGraphPass());
  passes.addPass(createRemoveUnusedSymbolsPass());
  passes.addPass(createImportFuncCallsPass());
  passes.addPass(createRemoveUnusedSymbolsPass());
}

/// And calls again.
static void addCallExport(OpPassManager &passes) {
  passes.addPass(createExportNamedComputationsPass());
  passes.addPass(createPropagateToFuncResultsPass());
  passes.addPass(createUnflattenCallGraphPass());
  passes.addPass(createRemoveUnusedSymbolsPass());
  passes.addPass(createInsertFuncCallReshardsPass());
}

void sdy::addExportPipeline(OpPassManager &passes,
                            const PropagationOptions &options) {
  passes.addNestedPass<func::FuncOp>(createConstantOrScalarMergerPass());
  passes.addNestedPass<func::FuncOp>(createSinkDataFlowEdgesPass());
  if (!options.avoidExportForPartitioning) {
    passes.addPass(createRemoveShardingGroupsPass());
    passes.addNestedPass<func::FuncOp>(createShardingConstraintToReshardPass());
  }
  passes.addPass(createUpdateNonDivisibleInputOutputShardingsPass());
  passes.addPass(createRemoveSubAxesInInputOutputShardingsPass());
  passes.addPass(createCloseShardingsPass());
  passes.addNestedPass<func::FuncOp>(createDropShardingRulesPass());
}

void sdy::addPropagationPreparation(OpPassManager &passes) {
  addImportPipeline(passes);
  addCallImport(passes);
  passes.addPass(createApplyShardingConstraintsPass());
  passes.addPass(createShardingGroupImportPass());
  passes.addPass(createPreOrderFuncsPass());
}

void sdy::addPropagationPipeline(OpPassManager &passes,
                                 const PropagationOptions &options) {
  addPropagationPreparation(passes);
  // Rules would only be stored to be dropped at the end.
  passes.addPass(createUserPriorityPropagatePass());
  addCallExport(passes);
  addExportPipeline(passes, options);
}

namespace {
struct TextualOptions : PassPipelineOptions<TextualOptions> {
  Option<bool> avoidExportForPartitioning{
      *this, "avoid-export-for-partitioning",
      llvm::cl::desc("Keep sharding groups and constraints."),
      llvm::cl::init(false)};

  PropagationOptions get() const { return {avoidExportForPartitioning}; }
};
} // namespace

void sdy::registerSdyPipelines() {
  PassPipelineRegistration<>(
      "sdy-import-pipeline",
      "Brings a module into the form that shardings propagate through",
      addImportPipeline);
  PassPipelineRegistration<TextualOptions>(
      "sdy-export-pipeline", "Closes shardings after propagation",
      [](OpPassManager &passes, const TextualOptions &options) {
        addExportPipeline(passes, options.get());
      });
  PassPipelineRegistration<TextualOptions>(
      "sdy-propagation-pipeline", "Propagates shardings through a module",
      [](OpPassManager &passes, const TextualOptions &options) {
        addPropagationPipeline(passes, options.get());
      });
}
