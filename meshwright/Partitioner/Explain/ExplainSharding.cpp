//===- ExplainSharding.cpp - Which annotation an axis comes from ----------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

#include "meshwright/Partitioner/Explain/ExplainSharding.h"
#include "meshwright/Dialect/Mpmd/Functions.h"
#include "meshwright/Partitioner/Explain/ValueMarks.h"
#include "meshwright/Partitioner/Partitioner.h"
#include "mlir/Pass/PassManager.h"

using namespace mlir;
using namespace mlir::mpmd;
using namespace meshwright;

FailureOr<std::vector<ExplainedValue>>
meshwright::explainSharding(ModuleOp module, const PartitionConfig *config,
                            StringRef value, const WrittenValues &written) {
  bool isWritten = value.starts_with("%");
  ValueMarks marks(module);
  if (isWritten && failed(marks.mark(value, written)))
    return failure();
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
  if (!isWritten)
    return explainShardings(module, value);
  llvm::DenseSet<Value> found = marks.find();
  return explainShardings(module, value,
                          [&](Value other) { return found.contains(other); });
}
