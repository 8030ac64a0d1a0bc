//===- ExplainSharding.cpp - Which annotation an axis comes from ----------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

#include "meshwright/Partitioner/ExplainSharding.h"
#include "meshwright/Dialect/Mpmd/Functions.h"
#include "meshwright/Partitioner/Partitioner.h"
#include "meshwright/Sharding/ExplainSharding.h"
#include "mlir/Pass/PassManager.h"

using namespace mlir;
using namespace mlir::mpmd;
using namespace meshwright;

LogicalResult meshwright::explainSharding(ModuleOp module,
                                          const PartitionConfig *config,
                                          StringRef value,
                                          llvm::raw_ostream &os) {
  if (config &&
      failed(partition(module, *config,
                       PhaseSet::between(Phase::Import, Phase::Optimize))))
    return failure();
  auto passes = PassManager::on<ModuleOp>(module.getContext());
  ShardingPropagationOptions options;
  if (config)
    options = config->resolveOptions().sharding;
  bool isOnMeshes = mpmd::getTopology(module) != nullptr;
  addExplainPreparation(passes, isOnMeshes ? &options : nullptr);
  if (failed(passes.run(module)))
    return failure();
  return explainShardings(module, value, os);
}
