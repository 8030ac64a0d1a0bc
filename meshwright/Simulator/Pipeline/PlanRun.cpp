//===- PlanRun.cpp - One run of a plan ------------------------------------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

#include "meshwright/Simulator/Pipeline/PlanRun.h"
#include "meshwright/Cost/TensorBytes.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/ErrorHandling.h"
#include "llvm/Support/MathExtras.h"
#include <algorithm>
#include <limits>
#include <optional>
#include <tuple>

using namespace meshwright;

PlanRun::PlanRun(const StepGraph &graph, const PipelineModel &model,
                 Ticks latency, const PlanRounds *rounds)
    : graph(graph), model(model), latency(latency), rounds(rounds) {
  takesTime = model.buckets.empty();
  if (model.buckets.empty())
    for (const ActionInputs::Work &work : graph.getWorks()) {
      const ActionCosts &costs = model.get(work.stage).times;
      times.push_back(costs.get(work.kind));
      takesTime &= times.back() > 0 && costs.overlapped.value_or(1) > 0;
    }
  for (uint32_t mesh = 0; mesh < graph.countMeshes(); ++mesh) {
    uint32_t count = graph.countActions(mesh);
    MeshState &state = states.emplace_back();
    state.starts.assign(count, 0);
    state.waits.resize(count);
  }
}

bool PlanRun::canRun(const StepGraph &graph) {
  return graph.countMostLinks() <
         (std::numeric_limits<Cause>::max() - kFirstLink) / 2;
}

Ticks PlanRun::getDuration(const ActionId &step) const {
  if (!times.empty() && !graph.isPair(step))
    return times[graph.getEntry(step).work];
  return getStepTime(graph.getActions(step), model);
}

Ticks PlanRun::getStop(const ActionId &step) {
  Ticks stop = getStart(step);
  addCount(stop, getDuration(step));
  return stop;
}

/// When a transfer has brought all that it began to bring then.
Ticks PlanRun::getArrival(Ticks begin) const {
  addCount(begin, latency);
  return begin;
}

PlanRun::Cause PlanRun::getCause(const Reading &reading) const {
  ActionId step = graph.getStep(reading.action);
  size_t before =
      step.index == reading.action.index ? 0 : graph.getLinks(step).size();
  return kFirstLink + before + reading.link;
}

/// Counts what each step waits for, and puts those that wait for nothing on the stack,
/// the first one on top.
void PlanRun::countPending() {
  for (uint32_t mesh = graph.countMeshes(); mesh-- > 0;)
    for (uint32_t end = graph.countActions(mesh); end > 0;) {
      ActionId step = graph.getStep({mesh, end - 1});
      uint16_t &count = states[mesh].waits[step.index].pending;
      count = graph.countInputs(step, /*withImplied=*/!takesTime) +
              (step.index > 0);
      end = step.index;
      if (count == 0)
        stack.push_back({step});
      ++numSteps;
    }
}

/// One of the things that a step waits for is there at `time`.
void PlanRun::drop(const ActionId &step, Ticks time, Cause cause) {
  MeshState &state = states[step.mesh];
  Wait &wait = state.waits[step.index];
  state.reached = std::max(state.reached, step.index + 1);
  if (time > state.starts[step.index]) {
    state.starts[step.index] = time;
    wait.cause = cause;
  }
  if (--wait.pending == 0)
    stack.push_back({step});
}

/// A step starts when it can: tells all that wait for its end.
void PlanRun::setTimes(const ActionId &step) {
  Ticks stop = getStop(step);
  order.push_back(step.mesh);
  // As the items of a workload are numbered: steps, and then transfers.
  Readings readings, transfers;
  for (uint32_t i = 0; i < graph.countActions(step); ++i) {
    ActionId maker = {step.mesh, step.index + i};
    graph.forEachReader(
        maker,
        [&](const ActionId &reader, const StepGraph::Reader &of) {
          (StepGraph::isTransfer(of.link, maker, reader) ? transfers : readings)
              .push_back({reader, of.number});
        },
        /*withImplied=*/!takesTime);
  }
  for (Readings *list : {&readings, &transfers})
    llvm::sort(*list, [](const Reading &a, const Reading &b) {
      return std::tie(a.action.mesh, a.action.index, a.link) <
             std::tie(b.action.mesh, b.action.index, b.link);
    });
  for (const Reading &reading : readings)
    drop(graph.getStep(reading.action), stop, getCause(reading));
  for (const Reading &reading : transfers) {
    ActionId to = graph.getStep(reading.action);
    stack.push_back({to, stop, getCause(reading), /*isTransfer=*/true});
    uint32_t &reached = states[to.mesh].reached;
    reached = std::max(reached, to.index + 1);
  }
  states[step.mesh].next = step.index + graph.countActions(step);
  if (!graph.isLast(step))
    drop(graph.getNext(step), stop, kPrevious);
}

bool PlanRun::run() {
  if (rounds && !canRepeat())
    return false;
  countPending();
  while (!stack.empty()) {
    Waiting next = stack.back();
    stack.pop_back();
    if (next.isTransfer) {
      drop(next.step, getArrival(next.begin), next.cause);
      continue;
    }
    setTimes(next.step);
    if (rounds && !repeated && states[watched].next >= nextWatch)
      watchRounds();
  }
  if (order.size() != numSteps || (rounds && !repeated))
    return false;
  stack = std::vector<Waiting>();
  for (uint32_t mesh = 0; mesh < graph.countMeshes(); ++mesh)
    if (uint32_t count = graph.countActions(mesh))
      makespan = std::max(makespan, getStop(graph.getStep({mesh, count - 1})));
  constexpr Ticks kMost = std::numeric_limits<Ticks>::max();
  if (repeated &&
      llvm::MulOverflow<Ticks>(repeated->time, getRemoved(), removedTime))
    return false;
  return makespan < kMost && removedTime < kMost - makespan;
}

//===----------------------------------------------------------------------===//
// The critical path
//===----------------------------------------------------------------------===//

/// The first step that ends with the whole.
ActionId PlanRun::findFirstAtEnd() {
  for (uint32_t mesh = 0; mesh < graph.countMeshes(); ++mesh) {
    // Those of a mesh end one after the other, or at the same time.
    std::optional<ActionId> first;
    for (uint32_t end = graph.countActions(mesh); end > 0;) {
      ActionId step = graph.getStep({mesh, end - 1});
      if (getStop(step) != makespan)
        break;
      first = step;
      end = step.index;
    }
    if (first)
      return *first;
  }
  llvm_unreachable("some step ends last");
}

void PlanRun::findPath() {
  if (numSteps == 0)
    return;
  Place place = findPlace(findFirstAtEnd(), getRemoved());
  while (true) {
    auto [step, later] = place;
    Ticks added = repeated ? later * repeated->time : 0;
    path.push_back({step, later, getStart(step) + added});
    Cause cause = states[step.mesh].waits[step.index].cause;
    if (cause == kNothing)
      return;
    if (cause == kPrevious) {
      place = findPlace(graph.getPrevious(step), later);
      continue;
    }
    uint32_t link = cause - kFirstLink;
    ActionId reader = step;
    if (link >= graph.getLinks(step).size()) {
      link -= graph.getLinks(step).size();
      ++reader.index;
    }
    const StepGraph::Link &found = graph.getLinks(reader)[link];
    ActionId maker = *graph.find(found, graph.getEntry(reader));
    place = findMaker(found, reader, later);
    if (!StepGraph::isTransfer(found, maker, reader))
      continue;
    Ticks begin = getStop(place.step);
    if (repeated)
      begin += place.later * repeated->time;
    path.push_back({reader, later, begin, /*isTransfer=*/true, link, maker});
    // It waits for nothing if what it brings is there from the start.
    if (begin == 0)
      return;
  }
}

/// The numbers that the items of the path have in a workload: of steps as they are in the
/// plan, and then of transfers as their readers are.
std::vector<uint32_t> PlanRun::numberPath() {
  std::vector<llvm::SmallVector<uint32_t, 0>> items(graph.countMeshes());
  for (auto [number, item] : llvm::enumerate(path))
    items[item.action.mesh].push_back(number);
  std::vector<uint32_t> numbers(path.size()), stepsBefore, transfersBefore;
  uint32_t steps = 0, transfers = 0;
  for (uint32_t mesh = 0; mesh < graph.countMeshes(); ++mesh) {
    uint32_t numActions = graph.countActions(mesh);
    stepsBefore.assign(1, 0);
    transfersBefore.assign(1, 0);
    for (uint32_t index = 0; index < numActions; ++index) {
      ActionId action{mesh, index};
      stepsBefore.push_back(stepsBefore.back() +
                            (graph.getStep(action).index == index));
      transfersBefore.push_back(transfersBefore.back() +
                                graph.countTransfers(action));
    }
    auto countBefore = [&](llvm::ArrayRef<uint32_t> before, uint32_t index,
                           uint32_t later) {
      if (later == 0)
        return before[index];
      uint32_t begin = repeated->begins[mesh];
      uint32_t end = begin + getLength(mesh);
      return before[index] + later * (before[end] - before[begin]);
    };
    for (uint32_t number : items[mesh]) {
      const PathItem &item = path[number];
      uint32_t index = item.action.index;
      numbers[number] =
          item.isTransfer
              ? transfers + countBefore(transfersBefore, index, item.later) +
                    graph.countTransfers(item.action, item.link)
              : steps + countBefore(stepsBefore, index, item.later);
    }
    steps += countBefore(stepsBefore, numActions, getRemoved());
    transfers += countBefore(transfersBefore, numActions, getRemoved());
  }
  for (auto [number, item] : llvm::zip_equal(numbers, path))
    if (item.isTransfer)
      number += steps;
  return numbers;
}

void PlanRun::listPath(PlanActivities &activities, Simulation &simulation) {
  findPath();
  std::vector<uint32_t> numbers = numberPath();
  for (size_t i = path.size(); i-- > 0;) {
    const PathItem &item = path[i];
    Action action = graph.getAction(item.action);
    if (rounds)
      action.microbatch += item.later * repeated->rounds * rounds->microbatches;
    Simulation::PathItem &added = simulation.criticalPath.emplace_back();
    added.item = numbers[i];
    added.microbatch = static_cast<int32_t>(action.microbatch);
    added.start = item.start;
    if (item.isTransfer) {
      added.activity = activities.getTransfer(
          item.maker.mesh, item.action.mesh, {/*duration=*/0, latency},
          graph.getAction(item.maker).stage);
      added.stop = getArrival(added.start);
      continue;
    }
    added.activity =
        activities.getStep(graph.getActions(item.action), item.action.mesh);
    added.stop = added.start + getDuration(item.action);
  }
  path = std::vector<PathItem>();
}
