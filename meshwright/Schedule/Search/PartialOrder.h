//===- PartialOrder.h - The actions that have been ordered ------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// Microbatches are alike, so what has been done of a stage is three numbers:
// forwards, gradients of its input (or whole backwards), gradients of its
// weights. Beside them are the times at which meshes are free and outputs
// arrive that have no reader yet.
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

/// The next action of one stage and kind.
struct Candidate {
  int32_t stage;
  Step step;
  int64_t start;
  int64_t stop;
};

struct PartialOrder {
  /// Three for each stage.
  std::vector<int32_t> done;
  /// When each mesh is free.
  std::vector<int64_t> free;
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

  /// Whether `a` is nowhere later than `b`, which has done the same.
  bool isNowhereLater(const PartialOrder &a, const PartialOrder &b) const;

private:
  bool hasRoom(const PartialOrder &order, int64_t stage) const;
  /// `arrival` is where the first output on the links to the action is; moves past
  /// all of them.
  std::optional<int64_t> findStart(const PartialOrder &order, int64_t stage,
                                   Step step, size_t &arrival) const;
  bool hasInput(const PartialOrder &order, int64_t stage, Step step) const;
  /// What one stage makes for another: the output of a forward, or a gradient.
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
  Links getLinksTo(int64_t stage, Step step) const {
    return step == kWeight ? Links() : linksTo[stage * 2 + step];
  }
  /// Where the outputs on a link are.
  size_t findArrivals(const PartialOrder &order, size_t link) const;
  int64_t countArrivals(const PartialOrder &order, size_t link) const;
  int64_t getCost(int64_t stage, Step step) const {
    return costs[stage * 3 + step];
  }
  int64_t countLive(const PartialOrder &order, int64_t stage) const;
  void updateBound(PartialOrder &order) const;

  const PipelineProblem &problem;
  int64_t numStages;
  std::vector<int64_t> costs;
  /// Those of forwards, then those of gradients, by the stage that takes.
  std::vector<Link> links;
  std::vector<Links> linksTo; ///< Two for each stage.
  /// From the end of an action of a stage to the end of its microbatch, by
  /// stage: after a forward, and after a gradient.
  std::vector<int64_t> afterForward, afterGradient;
  std::vector<llvm::SmallVector<int32_t, 2>> stagesOfMesh;
  /// Where a stage is among those of its mesh.
  std::vector<int32_t> rank;
};

} // namespace meshwright

#endif
