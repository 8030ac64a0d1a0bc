//===- PlanWorkload.h - A plan as a workload --------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// For pipelines without a program, and for schedules other than the program's:
//
//   0F0, 0B0          m0: F0 ─────────────► B0 ─► optimizer
//   1F0, 1B0    ──►   m0 -> m1 ╲     m1 -> m0 ╱
//                     m1:       F0 ─► B0 ─► optimizer
//
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_SIMULATOR_PLANWORKLOAD_H
#define MESHWRIGHT_SIMULATOR_PLANWORKLOAD_H

#include "meshwright/Schedule/Timeline.h"
#include "meshwright/Simulator/Workload.h"
#include <algorithm>

namespace meshwright {

/// The gradient of the input counts as backward.
ItemKind getItemKind(ActionKind kind);

/// What a stage sends to the next one or back for a microbatch.
struct StageTransfer {
  Ticks duration = 0;
  Ticks latency = 0;
  int64_t bytes = 0;       ///< All devices together.
  int64_t deviceBytes = 0; ///< On each device of the target.
};

/// One stage of a pipeline. Bytes are those on each device.
struct StageModel {
  ActionCosts times;
  Ticks optimizer = 0;
  int64_t parameterBytes = 0; ///< There all the time.
  /// From the first gradient to the optimizer.
  int64_t gradientBytes = 0;
  /// From the forward of a microbatch until its I or B ends, and until its W
  /// or B ends.
  int64_t bytesUntilInput = 0, bytesUntilWeight = 0;
  int64_t forwardTemporaryBytes = 0, backwardTemporaryBytes = 0;
  StageTransfer toNext, toPrevious;
  double forwardFlops = 0, backwardFlops = 0;
};

struct PipelineModel {
  /// By stage; the last one also represents those that are not there.
  std::vector<StageModel> stages;
  std::vector<Workload::Mesh> meshes; ///< Named `m0` and so on if absent.
  double peakFlops = 0;
  bool linksContend = true;

  /// Where microbatches differ, the stages of each bucket of them, and the bucket of
  /// each; empty if they are alike.
  std::vector<std::vector<StageModel>> buckets = {};
  std::vector<size_t> bucketOf = {};

  const StageModel &get(int64_t stage) const { return get(stages, stage); }
  const StageModel &get(int64_t stage, int64_t microbatch) const {
    return buckets.empty() ? get(stage)
                           : get(buckets[bucketOf[microbatch]], stage);
  }

  /// Stages as a plan's timeline has them: a live microbatch is a byte, and
  /// links never contend.
  static PipelineModel make(const PipelineCosts &costs);

private:
  static const StageModel &get(const std::vector<StageModel> &stages,
                               int64_t stage) {
    return stages[std::min<size_t>(stage, stages.size() - 1)];
  }
};

/// Each mesh runs its list, and then the optimizer of its stages.
Workload makeWorkload(const Plan &plan, const PipelineModel &model);

} // namespace meshwright

#endif
