//===- InitAll.cpp - All passes and pipelines -----------------------------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

#include "meshwright/InitAll.h"
#include "meshwright/Dialect/Sdy/Propagation/Pipeline.h"
#include "meshwright/Export/Pipeline.h"
#include "meshwright/Import/InferMesh/InferMeshPipeline.h"
#include "meshwright/Import/Pipeline.h"
#include "meshwright/Optimize/Pipeline.h"
#include "meshwright/RegisterPasses.h"
#include "meshwright/Sharding/Pipeline.h"

void meshwright::registerAllPasses() {
  registerPassesOfFolders();
  mlir::sdy::registerSdyPipelines();
  mlir::mpmd::registerImportPipeline();
  mlir::mpmd::registerInferMeshPipeline();
  mlir::mpmd::registerOptimizePipeline();
  mlir::mpmd::registerShardingPropagationPipeline();
  mlir::mpmd::registerExportPipeline();
}
