//===- Repetition.cpp - Partitioning few microbatches for many ------------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

#include "meshwright/Partitioner/Repeat/Repetition.h"
#include "meshwright/Partitioner/Repeat/RepeatOrder.h"
#include "meshwright/Partitioner/Repeat/RepeatProgram.h"
#include "meshwright/Partitioner/Repeat/ScheduledOrder.h"
#include "meshwright/Partitioner/Repeat/ShortenLoop.h"

using namespace mlir;
using namespace meshwright;

static int64_t countMicrobatches(func::FuncOp function) {
  int64_t microbatches = 0;
  for (auto loop : function.getOps<mpmd::ForOp>())
    microbatches += loop.getIterations();
  return microbatches;
}

int64_t Repetition::countItems(ModuleOp module, const PartitionConfig &config) {
  auto function = module.lookupSymbol<func::FuncOp>(config.function);
  if (!function || function.isExternal())
    return 0;
  return RepeatPlan::countItems(config, countMicrobatches(function));
}

std::optional<Repetition> Repetition::begin(ModuleOp module,
                                            PartitionConfig &config,
                                            int64_t mostItems, bool mayOrder,
                                            std::string &whyNot) {
  if (countItems(module, config) <= mostItems)
    return std::nullopt;
  auto function = module.lookupSymbol<func::FuncOp>(config.function);
  std::optional<MicrobatchLoop> loop =
      MicrobatchLoop::find(function, config, whyNot);
  if (!loop)
    return std::nullopt;
  std::optional<RepeatPlan> plan =
      RepeatPlan::find(config, countMicrobatches(function), mayOrder, whyNot);
  if (!plan)
    return std::nullopt;
  Repetition found(std::move(*plan), config);
  loop->shorten(found.plan.getCounts().few, config);
  return found;
}

LogicalResult Repetition::repeat(PartitionResult &partitioned,
                                 std::string &whyNot) const {
  const RepeatCounts &counts = plan.getCounts();
  llvm::StringMap<int64_t> stages;
  for (const PartitionConfig::Assignment &entry : config.assignment)
    if (entry.stage)
      stages.try_emplace(entry.name, *entry.stage);
  ConfigOptions options = config.resolveOptions();
  std::optional<ExportedProgram> whole = repeatProgram(
      *partitioned.program, counts,
      [&](const ExportedProgram &few, const ProgramLabels &labels) {
        return plan.ordersBySchedule()
                   ? orderBySchedule(few, labels, counts,
                                     options.optimizing.schedule, stages)
                   : repeatOrder(labels.getOrder(), labels.countKinds(),
                                 counts);
      },
      [&](const std::vector<RepeatedCalls> &few,
          const std::vector<RepeatedCalls> &many) {
        return plan.isOrderOf(few, many);
      },
      whyNot);
  if (!whole)
    return failure();
  whyNot.clear();
  partitioned.program = std::move(whole);
  orderForSharedDevices(*partitioned.program, config);
  return success();
}
