//===- InitAll.h - Everything a Meshwright tool registers -------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_INITALL_H
#define MESHWRIGHT_INITALL_H

#include "meshwright/Common/Passes.h"
#include "meshwright/Dialect/CHLO/ChloDialect.h"
#include "meshwright/Dialect/CHLO/Transforms/Passes.h"
#include "meshwright/Dialect/Mpmd/MpmdDialect.h"
#include "meshwright/Dialect/Sdy/Propagation/Passes.h"
#include "meshwright/Dialect/Sdy/Propagation/Pipeline.h"
#include "meshwright/Dialect/Sdy/SdyDialect.h"
#include "meshwright/Dialect/Sdy/Transforms/Passes.h"
#include "meshwright/Dialect/StableHLO/StablehloDialect.h"
#include "meshwright/Dialect/StableHLO/Transforms/Passes.h"
#include "meshwright/Export/Passes.h"
#include "meshwright/Export/Pipeline.h"
#include "meshwright/Import/InferMeshPipeline.h"
#include "meshwright/Import/Passes.h"
#include "meshwright/Import/Pipeline.h"
#include "meshwright/Optimize/Passes.h"
#include "meshwright/Optimize/Pipeline.h"
#include "meshwright/Sharding/Passes.h"
#include "meshwright/Sharding/Pipeline.h"
#include "mlir/Dialect/Func/Extensions/AllExtensions.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Quant/IR/Quant.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

namespace meshwright {

inline void registerAllDialects(mlir::DialectRegistry &registry) {
  registry.insert<mlir::chlo::ChloDialect, mlir::func::FuncDialect,
                  mlir::mpmd::MpmdDialect, mlir::quant::QuantDialect,
                  mlir::sdy::SdyDialect, mlir::stablehlo::StablehloDialect,
                  mlir::tensor::TensorDialect>();
  mlir::func::registerAllExtensions(registry);
}

inline void registerAllPasses() {
  mlir::sdy::registerSdyPasses();
  mlir::sdy::registerSdyPropagationPasses();
  mlir::sdy::registerSdyPipelines();
  mlir::stablehlo::registerStablehloPasses();
  mlir::mpmd::registerCommonPasses();
  mlir::mpmd::registerImportPasses();
  mlir::mpmd::registerImportPipeline();
  mlir::mpmd::registerInferMeshPipeline();
  mlir::mpmd::registerOptimizePasses();
  mlir::mpmd::registerOptimizePipeline();
  mlir::chlo::registerCHLOPasses();
  mlir::mpmd::registerShardingPasses();
  mlir::mpmd::registerShardingPropagationPipeline();
  mlir::mpmd::registerExportPasses();
  mlir::mpmd::registerExportPipeline();
}

} // namespace meshwright

#endif
