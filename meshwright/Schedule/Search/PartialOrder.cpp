//===- PartialOrder.cpp - The actions that have been ordered --------------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

#include "meshwright/Schedule/Search/PartialOrder.h"
#include "llvm/ADT/STLExtras.h"
#include <algorithm>

using namespace meshwright;

OrderBuilder::OrderBuilder(const PipelineProblem &problem)
    : problem(problem), buckets(problem.listBuckets()),
      numBuckets(buckets.size()), numStages(problem.getNumStages()),
      numLanes(numStages * numBuckets), afterForward(numLanes),
      afterGradient(numLanes), stagesOfMesh(problem.getNumMeshes()) {
  for (int64_t stage = 0; stage < numStages; ++stage) {
    for (const std::vector<int64_t> &members : buckets) {
      int64_t first = members.empty() ? 0 : members.front();
      costs.push_back(problem.costs.get(stage, first).forward);
      costs.push_back(problem.getGradientCost(stage, first));
      costs.push_back(problem.getWeightCost(stage, first));
      stageOf.push_back(stage);
      meshOf.push_back(problem.placement[stage]);
      counts.push_back(members.size());
    }
    stagesOfMesh[problem.placement[stage]].push_back(stage);
  }
  addLinks();
  StageLinks graph = problem.getLinks();
  for (int64_t lane = 0; lane < numLanes; ++lane) {
    int64_t stage = stageOf[lane];
    int64_t &after = afterGradient[lane] = getCost(lane, kWeight);
    for (int64_t before : graph.before[stage]) {
      int64_t next = lane + (before - stage) * numBuckets;
      after =
          std::max(after, problem.getHop(stage, before) +
                              getCost(next, kGradient) + afterGradient[next]);
    }
  }
  for (int64_t lane = numLanes - 1; lane >= 0; --lane) {
    int64_t stage = stageOf[lane];
    int64_t &after = afterForward[lane] =
        getCost(lane, kGradient) + afterGradient[lane];
    for (int64_t reader : graph.after[stage]) {
      int64_t next = lane + (reader - stage) * numBuckets;
      after = std::max(after, problem.getHop(stage, reader) +
                                  getCost(next, kForward) + afterForward[next]);
    }
  }
}

void OrderBuilder::addLinks() {
  StageLinks graph = problem.getLinks();
  linksTo.resize(numLanes * 2);
  linksFrom.resize(numLanes * 2);
  for (Step step : {kForward, kGradient})
    for (int64_t lane = 0; lane < numLanes; ++lane) {
      int64_t stage = stageOf[lane];
      Links &to = linksTo[lane * 2 + step];
      to.begin = links.size();
      for (int64_t from :
           step == kForward ? graph.before[stage] : graph.after[stage]) {
        int64_t giver = lane + (from - stage) * numBuckets;
        linksFrom[giver * 2 + step].push_back(links.size());
        links.push_back({giver, lane, step});
      }
      to.end = links.size();
    }
}

PartialOrder OrderBuilder::getEmpty() const {
  PartialOrder order;
  order.done.resize(numLanes * 3);
  order.meshes.resize(problem.getNumMeshes());
  for (auto [mesh, times] : llvm::enumerate(order.meshes))
    times.end = findEnd(order, mesh);
  updateBound(order);
  return order;
}

int64_t OrderBuilder::countLive(const PartialOrder &order,
                                int64_t stage) const {
  Step last = problem.splits[stage] ? kWeight : kGradient;
  int64_t live = 0;
  for (int64_t lane = stage * numBuckets, end = lane + numBuckets; lane < end;
       ++lane)
    live += order.done[lane * 3] - order.done[lane * 3 + last];
  return live;
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

bool OrderBuilder::hasInput(const PartialOrder &order, int64_t lane,
                            Step step) const {
  const int32_t *done = &order.done[lane * 3];
  if (done[step] == counts[lane])
    return false;
  switch (step) {
  case kForward:
    return hasRoom(order, stageOf[lane]);
  case kGradient:
    return done[kGradient] < done[kForward];
  case kWeight:
    return problem.splits[stageOf[lane]] && done[kWeight] < done[kGradient];
  }
  llvm_unreachable("unknown step");
}

std::optional<int64_t> OrderBuilder::findStart(const PartialOrder &order,
                                               int64_t lane, Step step,
                                               size_t &arrival) const {
  int64_t start = order.meshes[meshOf[lane]].free;
  bool isReady = true;
  auto [begin, end] = getLinksTo(lane, step);
  for (size_t link = begin; link < end; ++link) {
    int64_t count = countArrivals(order, link);
    if (count == 0)
      isReady = false;
    else
      start = std::max(start, order.arrivals[arrival]);
    arrival += count;
  }
  return isReady && hasInput(order, lane, step) ? std::optional(start)
                                                : std::nullopt;
}

void OrderBuilder::listCandidates(
    const PartialOrder &order,
    llvm::SmallVectorImpl<Candidate> &candidates) const {
  llvm::SmallVector<Candidate, 32> all;
  const Candidate *first = nullptr;
  size_t arrival = 0;
  for (Step step : {kForward, kGradient, kWeight})
    for (int32_t lane = 0; lane < numLanes; ++lane)
      if (auto start = findStart(order, lane, step, arrival))
        all.push_back({lane, step, *start, *start + getCost(lane, step)});
  for (const Candidate &candidate : all)
    if (!first || candidate.stop < first->stop)
      first = &candidate;
  if (!first)
    return;
  int64_t mesh = meshOf[first->lane];
  for (const Candidate &candidate : all)
    if (meshOf[candidate.lane] == mesh && candidate.start < first->stop)
      candidates.push_back(candidate);
}

void OrderBuilder::append(PartialOrder &order,
                          const Candidate &candidate) const {
  auto [lane, step, start, stop] = candidate;
  auto [begin, end] = getLinksTo(lane, step);
  for (size_t link = end; link-- > begin;)
    order.arrivals.erase(order.arrivals.begin() + findArrivals(order, link));
  ++order.done[lane * 3 + step];
  // An output is after those that its reader has not taken yet.
  for (uint32_t link : getLinksFrom(lane, step)) {
    size_t place = findArrivals(order, link) + countArrivals(order, link) - 1;
    int64_t hop = problem.getHop(stageOf[lane], stageOf[links[link].to]);
    order.arrivals.insert(order.arrivals.begin() + place, stop + hop);
  }
  int64_t mesh = meshOf[lane];
  order.meshes[mesh].free = stop;
  order.meshes[mesh].end = findEnd(order, mesh);
  updateBound(order);
}

Action OrderBuilder::getAction(const PartialOrder &order,
                               const Candidate &candidate) const {
  auto [lane, step, start, stop] = candidate;
  ActionKind kind = step == kForward  ? ActionKind::Forward
                    : step == kWeight ? ActionKind::Weight
                                      : problem.getGradientKind(stageOf[lane]);
  return {stageOf[lane], kind,
          buckets[lane % numBuckets][order.done[lane * 3 + step]]};
}

int64_t OrderBuilder::findRest(const PartialOrder &order, int64_t stage,
                               Step step, llvm::ArrayRef<int64_t> after) const {
  int64_t work = 0, least = std::numeric_limits<int64_t>::max(), rest = 0;
  for (int64_t lane = stage * numBuckets, end = lane + numBuckets; lane < end;
       ++lane) {
    int64_t left = counts[lane] - order.done[lane * 3 + step];
    if (left == 0)
      continue;
    int64_t ofLane = left * getCost(lane, step);
    work += ofLane;
    least = std::min(least, after[lane]);
    rest = std::max(rest, ofLane + after[lane]);
  }
  return rest == 0 ? 0 : std::max(rest, work + least);
}

int64_t OrderBuilder::findEnd(const PartialOrder &order, int64_t mesh) const {
  int64_t work = 0, atLeast = 0;
  for (int32_t stage : stagesOfMesh[mesh]) {
    for (int64_t lane = stage * numBuckets, end = lane + numBuckets; lane < end;
         ++lane)
      for (Step step : {kForward, kGradient, kWeight})
        work +=
            (counts[lane] - order.done[lane * 3 + step]) * getCost(lane, step);
    atLeast = std::max({atLeast, findRest(order, stage, kForward, afterForward),
                        findRest(order, stage, kGradient, afterGradient)});
  }
  return order.meshes[mesh].free + std::max(work, atLeast);
}

void OrderBuilder::updateBound(PartialOrder &order) const {
  order.bound = order.load = 0;
  for (const MeshTimes &mesh : order.meshes) {
    order.bound = std::max(order.bound, mesh.end);
    order.load += mesh.end;
  }
}

bool OrderBuilder::isNowhereLater(const PartialOrder &a,
                                  const PartialOrder &b) const {
  for (auto [left, right] : llvm::zip(a.meshes, b.meshes))
    if (left.free > right.free)
      return false;
  // An output that waits for its mesh arrives early enough.
  size_t arrival = 0;
  for (auto [index, link] : llvm::enumerate(links)) {
    int64_t free = b.meshes[meshOf[link.to]].free;
    for (int64_t i = countArrivals(a, index); i > 0; --i, ++arrival)
      if (a.arrivals[arrival] > std::max(b.arrivals[arrival], free))
        return false;
  }
  return true;
}
