//===- Timeline.cpp - When the actions of a plan run ----------------------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// A mesh advances until an input of its next action is missing, and is taken up
// again when that input is there. So each action is looked at as often as it
// has inputs, at most.
//
//===----------------------------------------------------------------------===//

#include "meshwright/Schedule/Timeline.h"
#include "meshwright/Schedule/ActionInputs.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SmallVector.h"
#include <algorithm>
#include <numeric>

using namespace meshwright;

namespace {
class Simulation {
public:
  Simulation(const Plan &plan, const PipelineCosts &costs);

  /// Runs all meshes until none can go on.
  void run();
  std::vector<Stall> getStalls() const;
  Timeline takeTimeline();

private:
  bool isDone(const ActionId &id) const { return id.index < numDone[id.mesh]; }
  const ActionId *findMissing(const Action &action) const;
  void advance(size_t mesh);
  /// The actions of the next step of a mesh: one, or an overlapped pair.
  llvm::ArrayRef<Action> getStep(size_t mesh) const;
  int64_t getCost(llvm::ArrayRef<Action> step) const;
  void finishStep(size_t mesh, llvm::ArrayRef<Action> step);

  const Plan &plan;
  const PipelineCosts &costs;
  ActionInputs inputs;
  std::vector<size_t> numDone;
  std::vector<size_t> ready; ///< Meshes to take up.
  /// Meshes that wait for an action.
  llvm::DenseMap<std::pair<size_t, size_t>, llvm::SmallVector<size_t, 2>>
      waiting;
  Timeline timeline;
};
} // namespace

int64_t ActionCosts::get(ActionKind kind) const {
  switch (kind) {
  case ActionKind::Forward:
  case ActionKind::Embedding:
  case ActionKind::Head:
    return forward;
  case ActionKind::Backward:
  case ActionKind::EmbeddingBackward:
  case ActionKind::HeadBackward:
    return backward;
  case ActionKind::Input:
    return input;
  case ActionKind::Weight:
    return weight;
  }
  llvm_unreachable("unknown kind of action");
}

ActionCosts ActionCosts::scaled(int64_t factor) const {
  ActionCosts costs{forward * factor, input * factor, weight * factor,
                    backward * factor};
  if (overlapped)
    costs.overlapped = *overlapped * factor;
  return costs;
}

void PipelineCosts::scaleMicrobatches(llvm::ArrayRef<int64_t> factors) {
  llvm::SmallVector<int64_t> known;
  for (int64_t factor : factors) {
    auto found = llvm::find(known, factor);
    bucketOf.push_back(found - known.begin());
    if (found != known.end())
      continue;
    known.push_back(factor);
    BucketCosts &bucket = buckets.emplace_back();
    bucket.usual = usual.scaled(factor);
    for (const ActionCosts &stage : stages)
      bucket.stages.push_back(stage.scaled(factor));
  }
}

Simulation::Simulation(const Plan &plan, const PipelineCosts &costs)
    : plan(plan), costs(costs), inputs(plan), numDone(plan.meshes.size()) {
  for (auto [mesh, list] : llvm::enumerate(plan.meshes)) {
    timeline.meshes.emplace_back(list.size());
    ready.push_back(mesh);
  }
  std::reverse(ready.begin(), ready.end());
  timeline.busy.resize(plan.meshes.size());
}

const ActionId *Simulation::findMissing(const Action &action) const {
  for (const ActionId *input : inputs.get(action))
    if (!isDone(*input))
      return input;
  return nullptr;
}

llvm::ArrayRef<Action> Simulation::getStep(size_t mesh) const {
  const ActionList &list = plan.meshes[mesh];
  size_t next = numDone[mesh];
  return llvm::ArrayRef(list).slice(next, list[next].joinsNext ? 2 : 1);
}

int64_t PipelineCosts::getPairTime(const ActionCosts &first,
                                   const ActionCosts &second, int64_t apart) {
  if (&first == &second)
    return first.overlapped.value_or(apart);
  auto getHidden = [](const ActionCosts &costs) -> int64_t {
    return costs.overlapped ? costs.forward + costs.backward - *costs.overlapped
                            : 0;
  };
  // The longer of the two is at least half of both.
  return std::max(apart - std::min(getHidden(first), getHidden(second)),
                  (apart + 1) / 2);
}

int64_t Simulation::getCost(llvm::ArrayRef<Action> step) const {
  int64_t cost = 0;
  for (const Action &action : step)
    cost += costs.get(action.stage, action.microbatch).get(action.kind);
  if (step.size() == 1)
    return cost;
  int64_t stage = step.front().stage;
  return PipelineCosts::getPairTime(costs.get(stage, step.front().microbatch),
                                    costs.get(stage, step.back().microbatch),
                                    cost);
}

void Simulation::finishStep(size_t mesh, llvm::ArrayRef<Action> step) {
  size_t index = numDone[mesh];
  int64_t start = index == 0 ? 0 : timeline.meshes[mesh][index - 1].stop;
  for (const Action &action : step)
    for (const ActionId *input : inputs.get(action)) {
      int64_t hop = input->mesh == mesh ? 0 : costs.transfer;
      start = std::max(start,
                       timeline.meshes[input->mesh][input->index].stop + hop);
    }
  int64_t cost = getCost(step);
  timeline.busy[mesh] += cost;
  for (size_t i = 0; i < step.size(); ++i) {
    timeline.meshes[mesh][index + i] = {start, start + cost};
    ++numDone[mesh];
    auto waiters = waiting.find({mesh, index + i});
    if (waiters == waiting.end())
      continue;
    llvm::append_range(ready, waiters->second);
    waiting.erase(waiters);
  }
}

void Simulation::advance(size_t mesh) {
  while (numDone[mesh] < plan.meshes[mesh].size()) {
    llvm::ArrayRef<Action> step = getStep(mesh);
    for (const Action &action : step)
      if (const ActionId *missing = findMissing(action)) {
        waiting[{missing->mesh, missing->index}].push_back(mesh);
        return;
      }
    finishStep(mesh, step);
  }
}

void Simulation::run() {
  while (!ready.empty()) {
    size_t mesh = ready.back();
    ready.pop_back();
    advance(mesh);
  }
}

std::vector<Stall> Simulation::getStalls() const {
  std::vector<Stall> stalls;
  for (size_t mesh = 0; mesh < plan.meshes.size(); ++mesh) {
    if (numDone[mesh] == plan.meshes[mesh].size())
      continue;
    for (const Action &action : getStep(mesh))
      if (const ActionId *missing = findMissing(action)) {
        size_t index = &action - plan.meshes[mesh].data();
        stalls.push_back(
            {mesh, index, plan.meshes[missing->mesh][missing->index]});
        break;
      }
  }
  return stalls;
}

Timeline Simulation::takeTimeline() {
  for (const auto &intervals : timeline.meshes) {
    if (intervals.empty())
      continue;
    timeline.makespan = std::max(timeline.makespan, intervals.back().stop);
    timeline.longestSpan = std::max(
        timeline.longestSpan, intervals.back().stop - intervals.front().start);
  }
  return std::move(timeline);
}

static double getIdlePart(llvm::ArrayRef<int64_t> busy, int64_t time) {
  if (busy.empty() || time == 0)
    return 0;
  double total = std::accumulate(busy.begin(), busy.end(), 0.);
  return 1 -
         total / (static_cast<double>(time) * static_cast<double>(busy.size()));
}

double Timeline::getBubble() const { return getIdlePart(busy, makespan); }
double Timeline::getBubbleOfSpan() const {
  return getIdlePart(busy, longestSpan);
}

std::vector<Stall> meshwright::findStalls(const Plan &plan) {
  PipelineCosts costs;
  Simulation simulation(plan, costs);
  simulation.run();
  return simulation.getStalls();
}

llvm::Expected<Timeline> meshwright::simulatePlan(const Plan &plan,
                                                  const PipelineCosts &costs) {
  Simulation simulation(plan, costs);
  simulation.run();
  std::vector<Stall> stalls = simulation.getStalls();
  if (stalls.empty())
    return simulation.takeTimeline();
  std::string text = "deadlock: ";
  llvm::raw_string_ostream os(text);
  llvm::interleave(
      stalls, os,
      [&](const Stall &stall) {
        os << "mesh " << stall.mesh << " waits at "
           << plan.meshes[stall.mesh][stall.index] << " for " << stall.missing;
      },
      "; ");
  return llvm::createStringError(text);
}

LiveCounts meshwright::countPeakLive(const ActionList &list) {
  LiveCounts now, peak;
  for (const Action &action : list) {
    switch (action.kind) {
    case ActionKind::Forward:
      ++now.untilWeight;
      ++now.untilInput;
      break;
    case ActionKind::Backward:
      --now.untilWeight;
      --now.untilInput;
      break;
    case ActionKind::Input:
      --now.untilInput;
      break;
    case ActionKind::Weight:
      --now.untilWeight;
      break;
    case ActionKind::Embedding:
    case ActionKind::EmbeddingBackward:
    case ActionKind::Head:
    case ActionKind::HeadBackward:
      break;
    }
    peak.untilWeight = std::max(peak.untilWeight, now.untilWeight);
    peak.untilInput = std::max(peak.untilInput, now.untilInput);
  }
  return peak;
}
