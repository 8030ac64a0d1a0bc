//===- Pipeline.h - The shard phase -----------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_SHARDING_PIPELINE_H
#define MESHWRIGHT_SHARDING_PIPELINE_H

#include "mlir/Pass/PassManager.h"
#include <vector>

namespace mlir::mpmd {

#define MESHWRIGHT_OPTIONS ShardingPropagationOptions
#define MESHWRIGHT_OPTIONS_TABLE "meshwright/Sharding/Options.def"
#include "meshwright/Text/PhaseOptions.inc"

/// Propagates the shardings that the user gave over the whole program, inside the
/// meshes and between them, and moves them into the types of values.
/// `keepsShared` leaves bodies that fragments share to the export phase.
void addShardingPropagationPipeline(OpPassManager &passes,
                                    const ShardingPropagationOptions &options,
                                    bool keepsShared = false);

/// Makes `mpmd-sharding-propagation-pipeline` known to pass pipelines.
void registerShardingPropagationPipeline();

} // namespace mlir::mpmd

#endif
