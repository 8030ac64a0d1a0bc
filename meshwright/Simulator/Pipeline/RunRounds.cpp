//===- RunRounds.cpp - How a run repeats ----------------------------------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

#include "meshwright/Simulator/Pipeline/PlanRun.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/Sequence.h"
#include "llvm/Support/MathExtras.h"
#include <algorithm>
#include <limits>

using namespace meshwright;

bool PlanRun::canRepeat() {
  if (!takesTime || !graph.isUniform())
    return false;
  while (graph.countActions(watched) == 0)
    ++watched;
  nextWatch = rounds->meshes[watched].begin + 1;
  return true;
}

PlanRun::State PlanRun::takeState() {
  State taken;
  taken.stack = stack;
  for (auto [mesh, state] : llvm::enumerate(states)) {
    uint32_t next = state.next, end = std::max(next, state.reached);
    State::Mesh &added = taken.meshes.emplace_back();
    added.next = next;
    if (next > 0)
      added.lastStop =
          getStop(graph.getPrevious({static_cast<uint32_t>(mesh), next}));
    added.starts.assign(state.starts.begin() + next,
                        state.starts.begin() + end);
    added.waits.assign(state.waits.begin() + next, state.waits.begin() + end);
  }
  return taken;
}

/// Whether all meshes have begun their rounds.
bool PlanRun::isInRounds() const {
  return llvm::all_of(llvm::zip(rounds->meshes, states), [](auto both) {
    const auto &[round, state] = both;
    return round.length == 0 || state.next > round.begin;
  });
}

/// Whether a mesh is as some rounds before, but for the time.
bool PlanRun::isRepeated(uint32_t mesh, const State::Mesh &before,
                         const State::Mesh &after, Ticks time) const {
  const PlanRounds::Mesh &round = rounds->meshes[mesh];
  if (graph.countActions(mesh) == 0)
    return true;
  uint32_t kept = rounds->count - rounds->removed;
  if (after.next + after.waits.size() > round.begin + kept * round.length ||
      after.waits.size() != before.waits.size() ||
      after.lastStop - before.lastStop != time)
    return false;
  return llvm::all_of(llvm::seq<size_t>(0, after.waits.size()), [&](size_t i) {
    if (before.waits[i].pending != after.waits[i].pending)
      return false;
    auto canMatter = [&](const State::Mesh &state) {
      return i == 0 || state.starts[i] > state.lastStop;
    };
    if (canMatter(before) != canMatter(after))
      return false;
    return !canMatter(before) ||
           (after.starts[i] - before.starts[i] == time &&
            after.waits[i].cause == before.waits[i].cause);
  });
}

bool PlanRun::isRepeated(const State &before, const State &after,
                         uint32_t numRounds) const {
  Ticks time = after.meshes[watched].lastStop - before.meshes[watched].lastStop;
  for (uint32_t mesh = 0; mesh < graph.countMeshes(); ++mesh)
    if (!isRepeated(mesh, before.meshes[mesh], after.meshes[mesh], time))
      return false;
  return before.stack.size() == after.stack.size() &&
         llvm::all_of(llvm::zip(before.stack, after.stack), [&](auto both) {
           const auto &[a, b] = both;
           return a.step.mesh == b.step.mesh &&
                  a.step.index +
                          numRounds * rounds->meshes[a.step.mesh].length ==
                      b.step.index &&
                  a.isTransfer == b.isTransfer && a.cause == b.cause &&
                  (!a.isTransfer || b.begin - a.begin == time);
         });
}

/// Whether all meshes have run that many rounds since.
bool PlanRun::isLater(const State &before, uint32_t numRounds) const {
  return llvm::all_of(
      llvm::zip(rounds->meshes, states, before.meshes), [&](auto all) {
        const auto &[round, state, known] = all;
        return state.next == known.next + numRounds * round.length;
      });
}

/// Keeps the states after 1, 2, 4, 8 and so on rounds, to compare later ones with.
void PlanRun::watchRounds() {
  nextWatch = states[watched].next + rounds->meshes[watched].length;
  if (!isInRounds())
    return;
  ++numRounds;
  for (const auto &[number, before] : known) {
    uint32_t count = numRounds - number;
    if (rounds->removed % count != 0 || !isLater(before, count))
      continue;
    State after = takeState();
    if (!isRepeated(before, after, count))
      continue;
    repeated.emplace();
    repeated->rounds = count;
    repeated->time =
        after.meshes[watched].lastStop - before.meshes[watched].lastStop;
    for (auto [mesh, state] : llvm::zip(before.meshes, states)) {
      repeated->begins.push_back(mesh.next);
      repeated->reached.push_back(state.reached);
    }
    known.clear();
    return;
  }
  if (llvm::isPowerOf2_32(numRounds))
    known.emplace_back(numRounds, takeState());
}

PlanRun::Place PlanRun::findPlace(const ActionId &action,
                                  uint32_t later) const {
  if (!repeated)
    return {action};
  uint32_t begin = repeated->begins[action.mesh];
  uint32_t length = getLength(action.mesh);
  uint32_t index = action.index + later * length;
  if (index < begin + length)
    return {{action.mesh, index}};
  later = std::min(getRemoved(), (index - begin) / length);
  return {{action.mesh, index - later * length}, later};
}

PlanRun::Place PlanRun::findMaker(const StepGraph::Link &link,
                                  const ActionId &reader,
                                  uint32_t later) const {
  // If it has been made before, take what is made in place of it as soon as rounds repeat.
  StepGraph::Entry entry = graph.getEntry(reader);
  while (true) {
    ActionId maker = *graph.find(link, entry);
    if (later == 0 || maker.index >= repeated->begins[maker.mesh])
      return findPlace(graph.getStep(maker), later);
    entry.microbatch += repeated->rounds * rounds->microbatches;
    --later;
  }
}

/// What starts before this is the same in the whole plan.
Ticks PlanRun::findFirstAfter() {
  Ticks first = std::numeric_limits<Ticks>::max();
  for (uint32_t mesh = 0; repeated && mesh < graph.countMeshes(); ++mesh) {
    uint32_t numActions = graph.countActions(mesh);
    if (numActions == 0)
      continue;
    ActionId begin{mesh, repeated->begins[mesh]}, end = begin;
    end.index += getLength(mesh);
    first = std::min(first, getStart(begin) + repeated->time);
    if (end.index < numActions)
      first = std::min(first, getStart(end));
  }
  return first;
}

/// After `findEdges`: whether the latest starts of what the round leads to are those of
/// the round, later by as much as the starts are.
bool PlanRun::isSlackRepeated() {
  for (uint32_t mesh = 0; repeated && mesh < graph.countMeshes(); ++mesh) {
    uint32_t length = getLength(mesh);
    uint32_t end = repeated->begins[mesh] + length;
    uint32_t last = std::max<uint32_t>(repeated->reached[mesh], end + 1);
    for (; end < std::min<uint32_t>(last, graph.countActions(mesh)); ++end)
      if (ActionId step{mesh, end};
          graph.getStep(step).index == end &&
          getStart(step) - getStart({mesh, end - length}) != repeated->time)
        return false;
  }
  return true;
}
