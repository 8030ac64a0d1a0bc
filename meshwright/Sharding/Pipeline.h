//===- Pipeline.h - The shard phase -----------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_SHARDING_PIPELINE_H
#define MESHWRIGHT_SHARDING_PIPELINE_H

#include "mlir/Pass/PassManager.h"
#include <string>

namespace mlir::mpmd {

struct ShardingPropagationOptions {
  /// Directory to write the module to, before and after propagation; empty for
  /// none.
  std::string dumpDirectory;
  /// Let each sharding be one of the mesh that its value lives on, whatever
  /// mesh it names. Without it, all meshes must have the axes that shardings
  /// name.
  bool retarget = false;
};

/// Spreads the shardings that the user gave over the whole program, inside the
/// meshes and between them, and moves them into the types of values.
void addShardingPropagationPipeline(OpPassManager &passes,
                                    const ShardingPropagationOptions &options);

/// Makes `mpmd-sharding-propagation-pipeline` known to pass pipelines.
void registerShardingPropagationPipeline();

} // namespace mlir::mpmd

#endif
