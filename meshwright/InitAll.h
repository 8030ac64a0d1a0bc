//===- InitAll.h - Everything a Meshwright tool registers -------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_INITALL_H
#define MESHWRIGHT_INITALL_H

#include "meshwright/Dialect/Sdy/Propagation/Pipeline.h"
#include "meshwright/Export/Pipeline.h"
#include "meshwright/Import/InferMesh/InferMeshPipeline.h"
#include "meshwright/Import/Pipeline.h"
#include "meshwright/InitDialects.h"
#include "meshwright/Optimize/Pipeline.h"
#include "meshwright/RegisterPasses.h"
#include "meshwright/Sharding/Pipeline.h"

namespace meshwright {

inline void registerAllPasses() {
  registerPassesOfFolders();
  mlir::sdy::registerSdyPipelines();
  mlir::mpmd::registerImportPipeline();
  mlir::mpmd::registerInferMeshPipeline();
  mlir::mpmd::registerOptimizePipeline();
  mlir::mpmd::registerShardingPropagationPipeline();
  mlir::mpmd::registerExportPipeline();
}

} // namespace meshwright

#endif
