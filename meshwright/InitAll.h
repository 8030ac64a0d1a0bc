//===- InitAll.h - Everything a Meshwright tool registers -------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_INITALL_H
#define MESHWRIGHT_INITALL_H

#include "meshwright/Dialect/CHLO/Transforms/Passes.h"
#include "meshwright/Dialect/Sdy/Calls/Passes.h"
#include "meshwright/Dialect/Sdy/Propagation/Passes.h"
#include "meshwright/Dialect/Sdy/Propagation/Pipeline.h"
#include "meshwright/Dialect/Sdy/Transforms/Passes.h"
#include "meshwright/Dialect/StableHLO/Transforms/Passes.h"
#include "meshwright/Erase/Passes.h"
#include "meshwright/Export/Passes.h"
#include "meshwright/Export/Pipeline.h"
#include "meshwright/Fragments/Merge/Passes.h"
#include "meshwright/Fragments/Share/Passes.h"
#include "meshwright/Fragments/Simplify/Passes.h"
#include "meshwright/Fragments/Split/Passes.h"
#include "meshwright/Import/Conditionals/Passes.h"
#include "meshwright/Import/InferMesh/InferMeshPipeline.h"
#include "meshwright/Import/InferMesh/Passes.h"
#include "meshwright/Import/Inline/Passes.h"
#include "meshwright/Import/Locality/Passes.h"
#include "meshwright/Import/Pipeline.h"
#include "meshwright/Import/Place/Passes.h"
#include "meshwright/Import/Prepare/Passes.h"
#include "meshwright/Import/Units/Passes.h"
#include "meshwright/InitDialects.h"
#include "meshwright/Optimize/Passes.h"
#include "meshwright/Optimize/Pipeline.h"
#include "meshwright/Optimize/Rules/Passes.h"
#include "meshwright/Optimize/Scheduler/Passes.h"
#include "meshwright/Partitioner/Passes.h"
#include "meshwright/Sharding/Passes.h"
#include "meshwright/Sharding/Pipeline.h"

namespace meshwright {

inline void registerAllPasses() {
  mlir::sdy::registerSdyTransformsPasses();
  mlir::sdy::registerSdyCallsPasses();
  mlir::sdy::registerSdyPropagationPasses();
  mlir::sdy::registerSdyPipelines();
  mlir::stablehlo::registerStableHLOTransformsPasses();
  mlir::mpmd::registerFragmentsMergePasses();
  mlir::mpmd::registerFragmentsSharePasses();
  mlir::mpmd::registerFragmentsSimplifyPasses();
  mlir::mpmd::registerFragmentsSplitPasses();
  mlir::mpmd::registerImportConditionalsPasses();
  mlir::mpmd::registerImportLocalityPasses();
  mlir::mpmd::registerImportInferMeshPasses();
  mlir::mpmd::registerImportInlinePasses();
  mlir::mpmd::registerImportPlacePasses();
  mlir::mpmd::registerImportPreparePasses();
  mlir::mpmd::registerImportUnitsPasses();
  mlir::mpmd::registerImportPipeline();
  mlir::mpmd::registerInferMeshPipeline();
  mlir::mpmd::registerOptimizePasses();
  mlir::mpmd::registerOptimizeRulesPasses();
  mlir::mpmd::registerOptimizeSchedulerPasses();
  mlir::mpmd::registerOptimizePipeline();
  mlir::chlo::registerCHLOPasses();
  mlir::mpmd::registerShardingPasses();
  mlir::mpmd::registerShardingPropagationPipeline();
  mlir::mpmd::registerExportPasses();
  mlir::mpmd::registerExportPipeline();
  mlir::mpmd::registerErasePasses();
  mlir::mpmd::registerPartitionerPasses();
}

} // namespace meshwright

#endif
