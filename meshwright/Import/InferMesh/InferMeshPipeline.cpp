//===- InferMeshPipeline.cpp ----------------------------------------------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// Nothing that removes dead code or canonicalizes may run in between: the sets
// are on ops, and assigns without users pin what would have no mesh otherwise.
//
//===----------------------------------------------------------------------===//

#include "meshwright/Import/InferMesh/InferMeshPipeline.h"
#include "meshwright/Import/InferMesh/Passes.h"
#include "mlir/Pass/PassOptions.h"
#include "mlir/Pass/PassRegistry.h"

using namespace mlir;
using namespace mlir::mpmd;

/// Finds where values are needed and available, and settles what is free to
/// choose: constraints, reductions, leaves.
static void addAnalysis(OpPassManager &pm, const InferMeshOptions &options) {
  pm.addPass(createInferMeshPopulateUseSetPass());
  pm.addPass(createInferMeshPopulateSrcSetPass());
  if (!options.constraints.empty()) {
    InferMeshAssignUsingInputOutputConstraintsPassOptions passOptions;
    passOptions.constraints.assign(options.constraints.begin(),
                                   options.constraints.end());
    passOptions.verboseLogging = options.errorLimit == -1;
    pm.addPass(createInferMeshAssignUsingInputOutputConstraintsPass(
        std::move(passOptions)));
  }
  pm.addNestedPass<func::FuncOp>(createInferMeshConvertReduceOpsPass(
      {options.inferCrossMeshReductions || options.inferTransfers,
       options.keepInitValues}));
  if (!options.inferTransfers) {
    pm.addPass(createInferMeshValidateSrcSetNotEmptyPass({options.errorLimit}));
  }
  pm.addPass(createInferMeshAssignMeshFuncLeavesPass(
      {options.inferTransfers, options.errorLimit}));
}

void mpmd::addInferMeshPasses(OpPassManager &pm,
                              const InferMeshOptions &options) {
  addAnalysis(pm, options);
  pm.addPass(createInferMeshPopulateUseSetPass()); // Leaves have uses now.
  if (!options.inferTransfers) {
    pm.addPass(createInferMeshValidateNoAdditionalTransfersNeededPass(
        {options.errorLimit}));
  }
  pm.addPass(createInferMeshRewriteUsingAnalysisPass({options.maxClones}));
  pm.addPass(createInferMeshFinalizePass(
      {options.inferTransfers, options.copyBetweenMemories}));
}

namespace {
struct InferMeshPipelineOptions
    : PassPipelineOptions<InferMeshPipelineOptions> {
  Option<bool> inferTransfers{
      *this, "infer-transfers",
      llvm::cl::desc("Add transfers wherever a value is needed on a mesh where "
                     "it is not. Implies infer-cross-mesh-reductions."),
      llvm::cl::init(false)};
  Option<bool> inferCrossMeshReductions{
      *this, "infer-cross-mesh-reductions",
      llvm::cl::desc("Compute sums of values on different meshes as "
                     "reductions across meshes."),
      llvm::cl::init(false)};
};
} // namespace

void mpmd::registerInferMeshPipeline() {
  PassPipelineRegistration<InferMeshPipelineOptions>(
      "mpmd-infer-mesh-pipeline",
      "Gives every operation, input and output a mesh",
      [](OpPassManager &pm, const InferMeshPipelineOptions &options) {
        InferMeshOptions inferOptions;
        inferOptions.inferTransfers = options.inferTransfers;
        inferOptions.inferCrossMeshReductions =
            options.inferCrossMeshReductions;
        addInferMeshPasses(pm, inferOptions);
      });
}
