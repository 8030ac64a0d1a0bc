//===- Repetition.h - Partitioning few microbatches for many ----*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// What partitioning takes grows with the number of microbatches, though all are alike.
// So a program of many is partitioned as one of a few, and the result repeated.
//
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_PARTITIONER_REPEAT_REPETITION_H
#define MESHWRIGHT_PARTITIONER_REPEAT_REPETITION_H

#include "meshwright/Partitioner/Partitioner.h"
#include "meshwright/Partitioner/Repeat/RepeatPlan.h"

namespace meshwright {

class Repetition {
public:
  /// About how many items a program has: 0 if it has no loop of microbatches.
  static int64_t countItems(mlir::ModuleOp module,
                            const PartitionConfig &config);

  /// Makes the program one of a few microbatches, and the configuration fit it; none if it
  /// has no more items than that, or if they cannot be repeated, which `whyNot` says the
  /// reason for; the program is then as it was. `mayOrder` is whether the few may be fewer
  /// than fill the pipeline, which may turn out not to be enough.
  static std::optional<Repetition> begin(mlir::ModuleOp module,
                                         PartitionConfig &config,
                                         int64_t mostItems, bool mayOrder,
                                         std::string &whyNot);

  /// Whether they are fewer than fill the pipeline.
  bool ordersBySchedule() const { return plan.ordersBySchedule(); }

  /// Makes what was partitioned the whole of it; fails, saying why, if that cannot be
  /// done.
  mlir::LogicalResult repeat(PartitionResult &partitioned,
                             std::string &whyNot) const;

private:
  Repetition(RepeatPlan plan, PartitionConfig config)
      : plan(std::move(plan)), config(std::move(config)) {}

  RepeatPlan plan;
  PartitionConfig config;
};

} // namespace meshwright

#endif
