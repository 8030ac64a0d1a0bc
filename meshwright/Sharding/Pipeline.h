//===- Pipeline.h - The shard phase -----------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_SHARDING_PIPELINE_H
#define MESHWRIGHT_SHARDING_PIPELINE_H

#include "mlir/Pass/PassManager.h"
#include <vector>

namespace mlir::mpmd {

struct ShardingPropagationOptions {
#define MESHWRIGHT_OPTION(TYPE, FIELD, TEXT, KEY, PIPELINE, FRONT, HELP)       \
  TYPE FIELD = PIPELINE;
#define MESHWRIGHT_LIST_OPTION(TYPE, FIELD, TEXT, KEY, HELP)                   \
  std::vector<TYPE> FIELD;
#include "meshwright/Sharding/Options.def"
};

/// Prints the options in braces, as the textual pipeline takes them.
llvm::raw_ostream &operator<<(llvm::raw_ostream &os,
                              const ShardingPropagationOptions &options);

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
