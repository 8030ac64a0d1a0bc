//===- Timeline.h - When the actions of a plan run --------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// Each mesh runs its list in order, each action as soon as its inputs are
// there. Transfers between meshes take their time, but no mesh's.
//
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_SCHEDULE_TIMELINE_H
#define MESHWRIGHT_SCHEDULE_TIMELINE_H

#include "meshwright/Schedule/Plan.h"
#include "llvm/ADT/ArrayRef.h"
#include "llvm/Support/Error.h"
#include <algorithm>
#include <optional>
#include <tuple>

namespace meshwright {

/// How long actions take, in units of one's choice, so that times are exact.
struct ActionCosts {
  int64_t forward = 1;
  int64_t input = 1;
  int64_t weight = 1;
  int64_t backward = 2;
  /// A forward and a backward as one step; the sum if absent.
  std::optional<int64_t> overlapped = std::nullopt;

  int64_t get(ActionKind kind) const;
  /// What a microbatch takes that is this many times as long.
  ActionCosts scaled(int64_t factor) const;
  int64_t getLongest() const {
    return std::max({forward, input, weight, backward});
  }
  bool operator==(const ActionCosts &other) const {
    return std::tie(forward, input, weight, backward, overlapped) ==
           std::tie(other.forward, other.input, other.weight, other.backward,
                    other.overlapped);
  }
};

/// Of microbatches that take the same times.
struct BucketCosts {
  /// Of a stage that `stages` does not have.
  ActionCosts usual;
  std::vector<ActionCosts> stages;

  const ActionCosts &get(int64_t stage) const {
    return stage < static_cast<int64_t>(stages.size()) ? stages[stage] : usual;
  }
};

struct PipelineCosts {
  /// Of a stage that `stages` does not have.
  ActionCosts usual;
  std::vector<ActionCosts> stages;
  /// From a stage to the next one or back, if that is on another mesh.
  int64_t transfer = 0;
  /// Where microbatches differ, the times of each bucket of them, in place of the
  /// above, and the bucket of each microbatch. Empty if they are alike.
  std::vector<BucketCosts> buckets = {};
  std::vector<size_t> bucketOf = {};

  const ActionCosts &get(int64_t stage) const {
    return stage < static_cast<int64_t>(stages.size()) ? stages[stage] : usual;
  }
  const ActionCosts &get(int64_t stage, int64_t microbatch) const {
    return buckets.empty() ? get(stage)
                           : buckets[bucketOf[microbatch]].get(stage);
  }
  /// What a forward and a backward of a stage take as one step, that take `apart` one
  /// after the other: a long and a short one hide of each other what short ones do.
  static int64_t getPairTime(const ActionCosts &first,
                             const ActionCosts &second, int64_t apart);
  /// Makes each microbatch this many times as long: a bucket for each factor.
  void scaleMicrobatches(llvm::ArrayRef<int64_t> factors);
};

struct Interval {
  int64_t start;
  int64_t stop;
};

struct Timeline {
  /// For each mesh and action, as in the plan.
  std::vector<std::vector<Interval>> meshes;
  std::vector<int64_t> busy; ///< Of each mesh.
  int64_t makespan = 0;
  int64_t longestSpan = 0; ///< Of one mesh, from its first start to its end.

  /// The part of the makespan in which a mesh idles, all meshes together.
  double getBubble() const;
  /// The same for the time between the first and the last action of a mesh.
  double getBubbleOfSpan() const;
};

/// A mesh that cannot go on: the input that its next action waits for.
struct Stall {
  size_t mesh;
  size_t index; ///< Of the action in the list of the mesh.
  Action missing;
};

/// Where the meshes stop for good; empty if the plan runs to its end.
std::vector<Stall> findStalls(const Plan &plan);

/// Fails if the plan does not run to its end. Linear in the actions.
llvm::Expected<Timeline> simulatePlan(const Plan &plan,
                                      const PipelineCosts &costs = {});

/// Stages of microbatches whose forward has begun on a mesh and whose backward
/// has not ended: until the end of B or W, and until the end of B or I. Parts of
/// the vocabulary are no stages of this.
struct LiveCounts {
  int64_t untilWeight = 0;
  int64_t untilInput = 0;
};
LiveCounts countPeakLive(const ActionList &list);

/// Prints the timeline as text, a line for each mesh, and its figures.
void printTimeline(const Plan &plan, const Timeline &timeline,
                   llvm::raw_ostream &os);

/// Prints the timeline as an SVG image with the given title, a row for each
/// mesh.
void printTimelineSvg(const Plan &plan, const Timeline &timeline,
                      llvm::StringRef title, llvm::raw_ostream &os);

} // namespace meshwright

#endif
