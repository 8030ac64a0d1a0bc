//===- Problem.h - What a schedule is made for ------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_SCHEDULE_SEARCH_PROBLEM_H
#define MESHWRIGHT_SCHEDULE_SEARCH_PROBLEM_H

#include "meshwright/Schedule/Schedule.h"
#include "meshwright/Schedule/Timeline.h"
#include <limits>

namespace meshwright {

inline constexpr int64_t kAnyLive = std::numeric_limits<int64_t>::max();

/// A pipeline to be ordered: its stages, in the order of the forward, with
/// their meshes and times, what feeds what, and what a mesh can hold.
struct PipelineProblem {
  int64_t microbatches = 1;
  PipelineCosts costs;
  /// The mesh of each stage, from 0.
  std::vector<int64_t> placement;
  /// Whether the backward of a stage runs as two halves.
  std::vector<bool> splits;
  /// The most (stage, microbatch) pairs that are live on each mesh: from the
  /// start of their forward to the end of their backward, weights included.
  std::vector<int64_t> mostLive;
  StageGraph graph; ///< By default, each stage feeds the next.
  /// How long the activations of one microbatch and stage take to the memory of the
  /// mesh's host, and back: they may wait there, and do not count. None if they may not.
  std::optional<int64_t> hostTime = std::nullopt;

  int64_t getNumStages() const { return placement.size(); }
  int64_t getNumMeshes() const { return mostLive.size(); }
  /// Of all stages and microbatches.
  int64_t countActions() const;
  /// Gives each of the stages of `shape`, a chain, a mesh.
  void place(const PlanShape &shape, Placement kind);
  /// Gives each stage of a graph a mesh of its tower, as the tower's schedule does.
  llvm::Error place(const StageGraph &graph);
  /// What the stages before wait for: all of the backward, or its first half.
  int64_t getGradientCost(int64_t stage, int64_t microbatch = 0) const {
    const ActionCosts &cost = costs.get(stage, microbatch);
    return splits[stage] ? cost.input : cost.backward;
  }
  /// The second half of the backward; none if it runs as a whole.
  int64_t getWeightCost(int64_t stage, int64_t microbatch = 0) const {
    return splits[stage] ? costs.get(stage, microbatch).weight : 0;
  }
  /// Makes one bucket of those with the same times; of none but one, that of all.
  void joinEqualBuckets();
  /// The microbatches of each bucket, in order; one bucket of all if they are alike.
  std::vector<std::vector<int64_t>> listBuckets() const;
  /// The microbatches of one bucket alone, and as many as there are, each with the
  /// least times of all: both are done before the problem is.
  PipelineProblem takeBucket(size_t bucket) const;
  PipelineProblem takeShortest() const;
  /// From one stage to another.
  int64_t getHop(int64_t from, int64_t to) const {
    return placement[from] == placement[to] ? 0 : costs.transfer;
  }
  StageLinks getLinks() const { return StageLinks(graph, getNumStages()); }
  ActionKind getGradientKind(int64_t stage) const {
    return splits[stage] ? ActionKind::Input : ActionKind::Backward;
  }
};

/// Whether no mesh of the plan holds more than the problem allows.
bool fitsMemory(const PipelineProblem &problem, const Plan &plan);

} // namespace meshwright

#endif
