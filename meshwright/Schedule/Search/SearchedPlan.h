//===- SearchedPlan.h - The schedule for one's own stages -------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// Builtin schedules are made for stages that take the same time. This finds an
// order for stages as they are: of different length, with transfers, within
// what each mesh can hold, their backward whole or in two halves.
//
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_SCHEDULE_SEARCH_SEARCHEDPLAN_H
#define MESHWRIGHT_SCHEDULE_SEARCH_SEARCHEDPLAN_H

#include "meshwright/Schedule/Schedule.h"
#include "meshwright/Schedule/Search/HostUse.h"
#include "meshwright/Schedule/Search/Problem.h"

namespace meshwright {

struct SearchedPlan {
  Plan plan;
  Timeline timeline;
  /// No order of these stages is shorter.
  int64_t lowerBound = 0;
  /// Whether the search has shown that none is shorter than this one.
  bool optimal = false;
  /// The builtin schedule whose order it is; empty if the search found it.
  llvm::StringRef builtin;
  /// Where activations may wait on hosts: what each mesh keeps where.
  std::optional<HostUse> hosts;

  /// How much longer it is than the lower bound, as a part of the latter.
  double getDistance() const;
};

/// The memory limit of 1F1B on its first mesh, where the user gives none: with more,
/// the shortest order keeps every microbatch.
inline int64_t getUsualLimit(const PlanShape &shape) {
  return shape.meshes * shape.chunks;
}

/// The same for each mesh of a graph: for each of its towers as many as there are
/// stages from its first one to the end.
std::vector<int64_t> getUsualLimits(const StageGraph &graph);

/// The shortest plan found for a pipeline: never longer than that of a builtin
/// schedule that fits, or of towers with a schedule each. `problem.splits` says whether
/// the backward of a stage may be split; a stage is split where that helps. Where
/// microbatches differ, their order is chosen as well. With hosts,
/// it may hold more than the meshes as long as these take the rest, and no backward
/// waits for them. Fails if a mesh has memory
/// for less than one microbatch in each of its stages, or there are more
/// actions than a plan may have, or than can be searched in some seconds.
llvm::Expected<SearchedPlan> searchPlan(PipelineProblem problem);

/// The same for `shape.chunks` stages on each mesh, the best placement: looped,
/// or folded where there are two. `costs` are those of the stages,
/// `mostLive` the memory limit of each mesh. Stages that are `empty` take a number and a
/// place, and have no actions.
llvm::Expected<SearchedPlan> searchPlan(const PlanShape &shape,
                                        const PipelineCosts &costs,
                                        const std::vector<bool> &splits,
                                        const std::vector<int64_t> &mostLive,
                                        std::optional<int64_t> hostTime = {},
                                        llvm::ArrayRef<bool> empty = {});

/// Prints the actions of each mesh with their times, the makespan and, of a
/// plan made to measure, its lower bound.
void printJson(const SearchedPlan &made, llvm::raw_ostream &os);

} // namespace meshwright

#endif
