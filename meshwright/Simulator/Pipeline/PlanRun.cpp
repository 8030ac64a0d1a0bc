//===- PlanRun.cpp - One run of a plan ------------------------------------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

#include "meshwright/Simulator/Pipeline/PlanRun.h"
#include "meshwright/Cost/TensorBytes.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/ErrorHandling.h"
#include <algorithm>
#include <limits>
#include <optional>
#include <tuple>

using namespace meshwright;

PlanRun::PlanRun(const StepGraph &graph, const PipelineModel &model,
                 Ticks latency)
    : graph(graph), model(model), latency(latency) {
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
  for (const Reading &reading : transfers)
    stack.push_back({graph.getStep(reading.action), stop, getCause(reading),
                     /*isTransfer=*/true});
  if (!graph.isLast(step))
    drop(graph.getNext(step), stop, kPrevious);
}

bool PlanRun::run() {
  countPending();
  while (!stack.empty()) {
    Waiting next = stack.back();
    stack.pop_back();
    if (next.isTransfer)
      drop(next.step, getArrival(next.begin), next.cause);
    else
      setTimes(next.step);
  }
  if (order.size() != numSteps)
    return false;
  stack = std::vector<Waiting>();
  for (uint32_t mesh = 0; mesh < graph.countMeshes(); ++mesh)
    if (uint32_t count = graph.countActions(mesh))
      makespan = std::max(makespan, getStop(graph.getStep({mesh, count - 1})));
  return makespan < std::numeric_limits<Ticks>::max();
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
  ActionId step = findFirstAtEnd();
  while (true) {
    path.push_back({step});
    Cause cause = states[step.mesh].waits[step.index].cause;
    if (cause == kNothing)
      return;
    if (cause == kPrevious) {
      step = graph.getPrevious(step);
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
    step = graph.getStep(maker);
    if (!StepGraph::isTransfer(found, maker, reader))
      continue;
    path.push_back({reader, /*isTransfer=*/true, link, maker});
    // It waits for nothing if what it brings is there from the start.
    if (getStop(step) == 0)
      return;
  }
}

/// The numbers that the items of the path have in a workload: of steps as they are in the
/// plan, and then of transfers as their readers are.
std::vector<uint32_t> PlanRun::numberPath() {
  auto getKey = [&](const PathItem &item) {
    return std::tuple(item.action.mesh, item.action.index, item.isTransfer,
                      item.link);
  };
  std::vector<uint32_t> sorted(path.size()), numbers(path.size());
  for (uint32_t i = 0; i < sorted.size(); ++i)
    sorted[i] = i;
  llvm::sort(sorted, [&](uint32_t a, uint32_t b) {
    return getKey(path[a]) < getKey(path[b]);
  });
  auto next = sorted.begin();
  uint32_t steps = 0, transfers = numSteps;
  for (uint32_t mesh = 0; mesh < graph.countMeshes(); ++mesh)
    for (uint32_t index = 0; index < graph.countActions(mesh); ++index) {
      ActionId action{mesh, index};
      if (next == sorted.end())
        return numbers;
      auto isNext = [&](bool isTransfer, uint32_t link) {
        return next != sorted.end() &&
               getKey(path[*next]) == std::tuple(mesh, index, isTransfer, link);
      };
      if (isNext(/*isTransfer=*/false, 0))
        numbers[*next++] = steps;
      steps += graph.getStep(action).index == index;
      if (next == sorted.end() || path[*next].action.mesh != mesh ||
          path[*next].action.index != index) {
        transfers += graph.countTransfers(action);
        continue;
      }
      graph.forEachInput(action, [&](uint32_t link, const StepGraph::Link &of,
                                     const ActionId &maker) {
        if (!StepGraph::isTransfer(of, maker, action))
          return;
        if (isNext(/*isTransfer=*/true, link))
          numbers[*next++] = transfers;
        ++transfers;
      });
    }
  return numbers;
}

void PlanRun::listPath(PlanActivities &activities, Simulation &simulation) {
  findPath();
  std::vector<uint32_t> numbers = numberPath();
  for (size_t i = path.size(); i-- > 0;) {
    const PathItem &item = path[i];
    Simulation::PathItem &added = simulation.criticalPath.emplace_back();
    added.item = numbers[i];
    if (item.isTransfer) {
      Action maker = graph.getAction(item.maker);
      added.activity =
          activities.getTransfer(item.maker.mesh, item.action.mesh,
                                 {/*duration=*/0, latency}, maker.stage);
      added.microbatch = static_cast<int32_t>(maker.microbatch);
      added.start = getStop(graph.getStep(item.maker));
      added.stop = getArrival(added.start);
      continue;
    }
    auto actions = graph.getActions(item.action);
    added.activity = activities.getStep(actions, item.action.mesh);
    added.microbatch = static_cast<int32_t>(actions.front().microbatch);
    added.start = getStart(item.action);
    added.stop = getStop(item.action);
  }
  path = std::vector<PathItem>();
}
