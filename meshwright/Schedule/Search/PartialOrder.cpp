//===- PartialOrder.cpp - The actions that have been ordered --------------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

#include "meshwright/Schedule/Search/PartialOrder.h"
#include "llvm/ADT/STLExtras.h"
#include <algorithm>

using namespace meshwright;

OrderBuilder::OrderBuilder(const PipelineProblem &problem)
    : problem(problem), numStages(problem.getNumStages()),
      afterForward(numStages), afterGradient(numStages),
      stagesOfMesh(problem.getNumMeshes()), rank(numStages) {
  for (int64_t stage = 0; stage < numStages; ++stage) {
    costs.push_back(problem.costs.get(stage).forward);
    costs.push_back(problem.getGradientCost(stage));
    costs.push_back(problem.getWeightCost(stage));
    auto &mates = stagesOfMesh[problem.placement[stage]];
    rank[stage] = mates.size();
    mates.push_back(stage);
  }
  addLinks();
  StageLinks graph = problem.getLinks();
  for (int64_t stage = 0; stage < numStages; ++stage) {
    int64_t &after = afterGradient[stage] = getCost(stage, kWeight);
    for (int64_t next : graph.before[stage])
      after =
          std::max(after, problem.getHop(stage, next) +
                              getCost(next, kGradient) + afterGradient[next]);
  }
  for (int64_t stage = numStages - 1; stage >= 0; --stage) {
    int64_t &after = afterForward[stage] =
        getCost(stage, kGradient) + afterGradient[stage];
    for (int64_t next : graph.after[stage])
      after = std::max(after, problem.getHop(stage, next) +
                                  getCost(next, kForward) + afterForward[next]);
  }
}

void OrderBuilder::addLinks() {
  StageLinks graph = problem.getLinks();
  linksTo.resize(numStages * 2);
  for (Step step : {kForward, kGradient})
    for (int64_t stage = 0; stage < numStages; ++stage) {
      Links &to = linksTo[stage * 2 + step];
      to.begin = links.size();
      for (int64_t from :
           step == kForward ? graph.before[stage] : graph.after[stage])
        links.push_back({from, stage, step});
      to.end = links.size();
    }
}

PartialOrder OrderBuilder::getEmpty() const {
  PartialOrder order;
  order.done.resize(numStages * 3);
  order.free.resize(problem.getNumMeshes());
  updateBound(order);
  return order;
}

int64_t OrderBuilder::countLive(const PartialOrder &order,
                                int64_t stage) const {
  Step last = problem.splits[stage] ? kWeight : kGradient;
  return order.done[stage * 3] - order.done[stage * 3 + last];
}

/// A later stage of a mesh keeps a place that earlier ones cannot take, so
/// what is under way can always go on to its end.
bool OrderBuilder::hasRoom(const PartialOrder &order, int64_t stage) const {
  const auto &mates = stagesOfMesh[problem.placement[stage]];
  int64_t most = problem.mostLive[problem.placement[stage]];
  if (most == kAnyLive)
    return true;
  int64_t live = 1;
  for (auto [index, mate] : llvm::enumerate(mates)) {
    live += countLive(order, mate);
    int64_t kept = static_cast<int64_t>(mates.size() - 1 - index);
    if (mate >= stage && live > most - kept)
      return false;
  }
  return true;
}

int64_t OrderBuilder::countArrivals(const PartialOrder &order,
                                    size_t link) const {
  auto [from, to, step] = links[link];
  return order.done[from * 3 + step] - order.done[to * 3 + step];
}

size_t OrderBuilder::findArrivals(const PartialOrder &order,
                                  size_t link) const {
  size_t index = 0;
  for (size_t before = 0; before < link; ++before)
    index += countArrivals(order, before);
  return index;
}

bool OrderBuilder::hasInput(const PartialOrder &order, int64_t stage,
                            Step step) const {
  const int32_t *done = &order.done[stage * 3];
  if (done[step] == problem.microbatches)
    return false;
  switch (step) {
  case kForward:
    return hasRoom(order, stage);
  case kGradient:
    return done[kGradient] < done[kForward];
  case kWeight:
    return problem.splits[stage] && done[kWeight] < done[kGradient];
  }
  llvm_unreachable("unknown step");
}

std::optional<int64_t> OrderBuilder::findStart(const PartialOrder &order,
                                               int64_t stage, Step step,
                                               size_t &arrival) const {
  int64_t start = order.free[problem.placement[stage]];
  bool isReady = hasInput(order, stage, step);
  auto [begin, end] = getLinksTo(stage, step);
  for (size_t link = begin; link < end; ++link) {
    int64_t count = countArrivals(order, link);
    if (count == 0)
      isReady = false;
    else
      start = std::max(start, order.arrivals[arrival]);
    arrival += count;
  }
  return isReady ? std::optional(start) : std::nullopt;
}

void OrderBuilder::listCandidates(
    const PartialOrder &order,
    llvm::SmallVectorImpl<Candidate> &candidates) const {
  llvm::SmallVector<Candidate, 32> all;
  const Candidate *first = nullptr;
  size_t arrival = 0;
  for (Step step : {kForward, kGradient, kWeight})
    for (int32_t stage = 0; stage < numStages; ++stage)
      if (auto start = findStart(order, stage, step, arrival))
        all.push_back({stage, step, *start, *start + getCost(stage, step)});
  for (const Candidate &candidate : all)
    if (!first || candidate.stop < first->stop)
      first = &candidate;
  if (!first)
    return;
  int64_t mesh = problem.placement[first->stage];
  for (const Candidate &candidate : all)
    if (problem.placement[candidate.stage] == mesh &&
        candidate.start < first->stop)
      candidates.push_back(candidate);
}

void OrderBuilder::append(PartialOrder &order,
                          const Candidate &candidate) const {
  auto [stage, step, start, stop] = candidate;
  auto [begin, end] = getLinksTo(stage, step);
  for (size_t link = end; link-- > begin;)
    order.arrivals.erase(order.arrivals.begin() + findArrivals(order, link));
  ++order.done[stage * 3 + step];
  // An output is after those that its reader has not taken yet.
  for (auto [index, link] : llvm::enumerate(links)) {
    if (link.from != stage || link.step != step)
      continue;
    size_t place = findArrivals(order, index) + countArrivals(order, index) - 1;
    order.arrivals.insert(order.arrivals.begin() + place,
                          stop + problem.getHop(stage, link.to));
  }
  order.free[problem.placement[stage]] = stop;
  updateBound(order);
}

Action OrderBuilder::getAction(const PartialOrder &order,
                               const Candidate &candidate) const {
  ActionKind kind = candidate.step == kForward ? ActionKind::Forward
                    : candidate.step == kWeight
                        ? ActionKind::Weight
                        : problem.getGradientKind(candidate.stage);
  return {candidate.stage, kind,
          order.done[candidate.stage * 3 + candidate.step]};
}

void OrderBuilder::updateBound(PartialOrder &order) const {
  order.bound = order.load = 0;
  for (auto [mesh, stages] : llvm::enumerate(stagesOfMesh)) {
    int64_t rest = order.free[mesh], atLeast = 0;
    for (int32_t stage : stages) {
      const int32_t *done = &order.done[stage * 3];
      int64_t left[] = {problem.microbatches - done[kForward],
                        problem.microbatches - done[kGradient],
                        problem.microbatches - done[kWeight]};
      for (Step step : {kForward, kGradient, kWeight})
        rest += left[step] * getCost(stage, step);
      if (left[kForward] > 0)
        atLeast =
            std::max(atLeast, order.free[mesh] +
                                  left[kForward] * getCost(stage, kForward) +
                                  afterForward[stage]);
      if (left[kGradient] > 0)
        atLeast =
            std::max(atLeast, order.free[mesh] +
                                  left[kGradient] * getCost(stage, kGradient) +
                                  afterGradient[stage]);
    }
    order.bound = std::max({order.bound, rest, atLeast});
    order.load += std::max(rest, atLeast);
  }
}

bool OrderBuilder::isNowhereLater(const PartialOrder &a,
                                  const PartialOrder &b) const {
  for (auto [left, right] : llvm::zip(a.free, b.free))
    if (left > right)
      return false;
  // An output that waits for its mesh arrives early enough.
  size_t arrival = 0;
  for (auto [index, link] : llvm::enumerate(links)) {
    int64_t free = b.free[problem.placement[link.to]];
    for (int64_t i = countArrivals(a, index); i > 0; --i, ++arrival)
      if (a.arrivals[arrival] > std::max(b.arrivals[arrival], free))
        return false;
  }
  return true;
}
