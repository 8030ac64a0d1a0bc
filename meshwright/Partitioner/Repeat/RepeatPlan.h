//===- RepeatPlan.h - How many microbatches are enough ----------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// The plan of a schedule for few microbatches can be continued to that for many
// (RepeatOrder.h) once all meshes have come to a steady state. Where stages are many, ten
// microbatches are enough to know what each of them is made of, and the order is made as the
// scheduler makes it (ScheduledOrder.h). What a program must look like follows: its calls
// are those of the plan.
//
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_PARTITIONER_REPEAT_REPEATPLAN_H
#define MESHWRIGHT_PARTITIONER_REPEAT_REPEATPLAN_H

#include "meshwright/Partitioner/PartitionConfig.h"
#include "meshwright/Partitioner/Repeat/RepeatProgram.h"

namespace meshwright {

class RepeatPlan {
public:
  /// About how many items a program of that many microbatches has.
  static int64_t countItems(const PartitionConfig &config,
                            int64_t microbatches);

  /// How to partition a program of that many microbatches, if that is worth it and the
  /// configuration asks for nothing that depends on all of them. None, and why, else.
  /// `mayOrder` is whether the few may be fewer than fill the pipeline.
  static std::optional<RepeatPlan> find(const PartitionConfig &config,
                                        int64_t microbatches, bool mayOrder,
                                        std::string &whyNot);

  const RepeatCounts &getCounts() const { return counts; }
  /// Whether the order is that of the schedule, rather than that of the few continued.
  bool ordersBySchedule() const { return isOrdered; }
  /// Whether the calls of a program, by mesh of the configuration, are those of the plan.
  bool isOrderOf(const std::vector<RepeatedCalls> &few,
                 const std::vector<RepeatedCalls> &many) const;

private:
  RepeatCounts counts;
  bool isOrdered = false;
  /// By mesh of the configuration; none where it has no stage.
  std::vector<RepeatedCalls> ofFew, ofMany;
};

} // namespace meshwright

#endif
