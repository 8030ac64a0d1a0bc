//===- PartialOrder.h - The actions that have been ordered ------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// Microbatches are alike, so what has been done of a stage is three numbers:
// forwards, gradients of its input (or whole backwards), gradients of its
// weights. Beside them are the times at which meshes are free and outputs
// arrive that have no reader yet.
//
// Where microbatches differ, those of a bucket are alike. Each stage then has a lane
// for each bucket, with three numbers of its own; the lanes of a stage share its mesh
// and its memory, and feed the lanes of their bucket. So long and short ones may come
// in any order, in each stage and each direction another one:
//
//     stage 0, lane 0 (short)  ──►  stage 1, lane 2 (short)
//     stage 0, lane 1 (long)   ──►  stage 1, lane 3 (long)
//
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_SCHEDULE_SEARCH_PARTIALORDER_H
#define MESHWRIGHT_SCHEDULE_SEARCH_PARTIALORDER_H

#include "meshwright/Schedule/Search/Problem.h"
#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/SmallVector.h"

namespace meshwright {

/// Forward, gradient (of the input, or whole backward), gradient of weights.
enum Step : uint8_t { kForward, kGradient, kWeight };

/// The next action of one lane and kind.
struct Candidate {
  int32_t lane;
  Step step;
  int64_t start;
  int64_t stop;
};

/// When a mesh is free, and when it has done all that is left, at the least.
struct MeshTimes {
  int64_t free = 0, end = 0;
};

struct PartialOrder {
  /// Three for each lane.
  std::vector<int32_t> done;
  std::vector<MeshTimes> meshes;
  /// When outputs arrive that have not been taken: for each link, in the order of
  /// microbatches.
  std::vector<int64_t> arrivals;
  /// What the rest takes at least, and how much all meshes need together.
  int64_t bound = 0, load = 0;
  /// The node of the last action.
  uint32_t node = 0;
};

/// What is the same for all orders of a problem.
class OrderBuilder {
public:
  explicit OrderBuilder(const PipelineProblem &problem);

  PartialOrder getEmpty() const;

  /// The actions that may come next: of all that can, one ends first, at t;
  /// those of its mesh that can start before t. Any other would leave time for
  /// it.
  void listCandidates(const PartialOrder &order,
                      llvm::SmallVectorImpl<Candidate> &candidates) const;
  void append(PartialOrder &order, const Candidate &candidate) const;
  Action getAction(const PartialOrder &order, const Candidate &candidate) const;
  int64_t getMesh(const Candidate &candidate) const {
    return meshOf[candidate.lane];
  }

  /// Whether `a` is nowhere later than `b`, which has done the same.
  bool isNowhereLater(const PartialOrder &a, const PartialOrder &b) const;

private:
  bool hasRoom(const PartialOrder &order, int64_t stage) const;
  /// `arrival` is where the first output on the links to the action is; moves past
  /// all of them.
  std::optional<int64_t> findStart(const PartialOrder &order, int64_t lane,
                                   Step step, size_t &arrival) const;
  bool hasInput(const PartialOrder &order, int64_t lane, Step step) const;
  /// What one lane makes for another: the output of a forward, or a gradient.
  struct Link {
    int64_t from, to;
    Step step;
  };
  /// A range of links.
  struct Links {
    size_t begin = 0, end = 0;
  };

  void addLinks();
  /// The links to an action.
  Links getLinksTo(int64_t lane, Step step) const {
    return step == kWeight ? Links() : linksTo[lane * 2 + step];
  }
  /// The links from an action, by number.
  llvm::ArrayRef<uint32_t> getLinksFrom(int64_t lane, Step step) const {
    if (step == kWeight)
      return {};
    return linksFrom[lane * 2 + step];
  }
  /// Where the outputs on a link are.
  size_t findArrivals(const PartialOrder &order, size_t link) const;
  int64_t countArrivals(const PartialOrder &order, size_t link) const;
  int64_t getCost(int64_t lane, Step step) const {
    return costs[lane * 3 + step];
  }
  int64_t countLive(const PartialOrder &order, int64_t stage) const;
  /// The least that is left of a mesh when all of a step that its stage has to do is
  /// done, each microbatch one after the other, and the last has gone to its end.
  int64_t findRest(const PartialOrder &order, int64_t stage, Step step,
                   llvm::ArrayRef<int64_t> after) const;
  int64_t findEnd(const PartialOrder &order, int64_t mesh) const;
  /// The bound and the load, from the ends of meshes.
  void updateBound(PartialOrder &order) const;

  const PipelineProblem &problem;
  std::vector<std::vector<int64_t>> buckets; ///< The microbatches of each.
  int64_t numBuckets, numStages, numLanes;
  std::vector<int64_t> costs;
  std::vector<int64_t> stageOf, meshOf; ///< By lane.
  std::vector<int64_t> counts; ///< Microbatches that go through a lane.
  /// Those of forwards, then those of gradients, by the lane that takes.
  std::vector<Link> links;
  /// Two for each lane. Links to a lane are a range, those from it are not.
  std::vector<Links> linksTo;
  std::vector<llvm::SmallVector<uint32_t, 2>> linksFrom;
  /// From the end of an action of a lane to the end of its microbatch, by
  /// lane: after a forward, and after a gradient.
  std::vector<int64_t> afterForward, afterGradient;
  std::vector<llvm::SmallVector<int32_t, 2>> stagesOfMesh;
};

} // namespace meshwright

#endif
