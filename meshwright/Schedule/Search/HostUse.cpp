//===- HostUse.cpp - A plan whose activations wait on hosts ---------------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// A device that sends activations to its host holds more microbatches than it has memory
// for. The forwards that it could run at once wait for the link, for as long as no backward
// becomes later:
//
//   memory 2, a trip takes 2     m0 | F0 F1 .  F2 .  F3 .  .  B0=== …
//   4 live                       >  |    F0=== F1===
//
// F2 starts when F0 is on the host, F3 when F1 is. What travels when, OffloadChoice says,
// mesh by mesh: what waits on one makes forwards of the next ones later.
//
// Cost. Actions times meshes, and the trips of each mesh.
//
//===----------------------------------------------------------------------===//

#include "meshwright/Schedule/Search/HostUse.h"
#include "meshwright/Schedule/Search/OffloadChoice.h"
#include "llvm/ADT/STLExtras.h"
#include <cmath>
#include <map>
#include <set>

using namespace meshwright;

namespace {
/// A plan as its hosts let it run.
class Hosts {
public:
  Hosts(const PipelineProblem &problem, const Plan &plan, int64_t hostTime,
        Timeline &timeline);

  std::optional<HostUse> find();

private:
  using Place = std::pair<size_t, size_t>; ///< Mesh, and position in its list.

  bool isBackward(Place place) const {
    return getAction(place).kind != ActionKind::Forward;
  }
  const Action &getAction(Place place) const {
    return plan.meshes[place.first][place.second];
  }
  double getDuration(Place place) const {
    const Interval &interval = timeline.meshes[place.first][place.second];
    return static_cast<double>(interval.stop - interval.start);
  }
  /// What frees the activations of a stage.
  ActionKind getLastKind(int64_t stage) const {
    return halves.count(stage) ? ActionKind::Weight : ActionKind::Backward;
  }
  std::vector<double> findLatest(size_t mesh) const;
  DeviceLoad makeLoad(size_t mesh) const;
  std::vector<WaitingGroup> makeGroups(size_t mesh) const;
  void delay(size_t mesh, llvm::ArrayRef<double> starts);

  const PipelineProblem &problem;
  const Plan &plan;
  StageLinks links;
  double hostTime;
  Timeline &timeline;
  std::vector<std::vector<double>> starts; ///< Of all actions.
  std::vector<Place> byStart;
  /// The forwards of each stage, by microbatch.
  std::map<std::pair<int64_t, int64_t>, Place> forwards;
  std::set<int64_t> halves; ///< Stages whose backward is in two halves.
  size_t numDecided = 0;
};
} // namespace

Hosts::Hosts(const PipelineProblem &problem, const Plan &plan, int64_t hostTime,
             Timeline &timeline)
    : problem(problem), plan(plan), links(problem.getLinks()),
      hostTime(static_cast<double>(hostTime)), timeline(timeline) {
  for (auto [mesh, list] : llvm::enumerate(plan.meshes)) {
    starts.emplace_back();
    for (auto [index, action] : llvm::enumerate(list)) {
      starts.back().push_back(
          static_cast<double>(timeline.meshes[mesh][index].start));
      byStart.emplace_back(mesh, index);
      if (action.kind == ActionKind::Forward)
        forwards[{action.stage, action.microbatch}] = {mesh, index};
      if (action.kind == ActionKind::Weight)
        halves.insert(action.stage);
    }
  }
  llvm::stable_sort(byStart, [&](Place a, Place b) {
    return starts[a.first][a.second] < starts[b.first][b.second];
  });
}

/// When each action of a mesh starts at the latest, so that no backward and nothing of a
/// mesh that is decided is later.
std::vector<double> Hosts::findLatest(size_t mesh) const {
  std::vector<std::vector<double>> latest = starts;
  for (Place place : llvm::reverse(byStart)) {
    auto [at, index] = place;
    const Action &action = getAction(place);
    // A later stage of the mesh waits for earlier ones by way of others.
    bool isReturning =
        at == mesh &&
        llvm::is_contained(
            llvm::ArrayRef(problem.placement).take_front(action.stage),
            static_cast<int64_t>(mesh));
    bool isJoined =
        action.joinsNext || (index > 0 && getAction({at, index - 1}).joinsNext);
    if (isBackward(place) || at < numDecided || isReturning || isJoined)
      continue;
    double stop = static_cast<double>(timeline.makespan);
    if (index + 1 < latest[at].size())
      stop = latest[at][index + 1];
    for (int64_t reader : links.after[action.stage])
      if (auto next = forwards.find({reader, action.microbatch});
          next != forwards.end())
        stop = std::min(stop, latest[next->second.first][next->second.second] -
                                  static_cast<double>(
                                      problem.getHop(action.stage, reader)));
    latest[at][index] = std::max(starts[at][index], stop - getDuration(place));
  }
  return latest[mesh];
}

/// The live parts of microbatches while each action runs.
DeviceLoad Hosts::makeLoad(size_t mesh) const {
  DeviceLoad load;
  load.secondsPerByte = hostTime / kPartsOfMicrobatch;
  std::vector<double> latest = findLatest(mesh);
  int64_t live = 0;
  for (auto [index, action] : llvm::enumerate(plan.meshes[mesh])) {
    if (action.kind == ActionKind::Forward)
      live += kPartsOfMicrobatch;
    double start = starts[mesh][index];
    load.steps.push_back(
        {start, start + getDuration({mesh, index}), live, latest[index]});
    if (action.kind == getLastKind(action.stage))
      live -= kPartsOfMicrobatch;
  }
  return load;
}

/// From one action of a microbatch to the next one, its activations may be elsewhere.
std::vector<WaitingGroup> Hosts::makeGroups(size_t mesh) const {
  std::vector<WaitingGroup> groups;
  std::map<std::pair<int64_t, int64_t>, unsigned> last;
  for (auto [index, action] : llvm::enumerate(plan.meshes[mesh])) {
    unsigned step = index;
    auto [entry, isFirst] =
        last.try_emplace({action.stage, action.microbatch}, step);
    if (!isFirst && step > entry->second + 1)
      groups.push_back({entry->second, step, 0,
                        std::vector<int64_t>(kPartsOfMicrobatch, 1)});
    entry->second = step;
  }
  return groups;
}

/// Starts actions of a mesh later, and what waits for them.
void Hosts::delay(size_t mesh, llvm::ArrayRef<double> later) {
  llvm::copy(later, starts[mesh].begin());
  for (Place place : byStart) {
    auto [at, index] = place;
    const Action &action = getAction(place);
    double &start = starts[at][index];
    if (index > 0)
      start =
          std::max(start, starts[at][index - 1] + getDuration({at, index - 1}));
    if (action.kind != ActionKind::Forward)
      continue;
    for (int64_t maker : links.before[action.stage])
      if (auto before = forwards.find({maker, action.microbatch});
          before != forwards.end())
        start = std::max(
            start,
            starts[before->second.first][before->second.second] +
                getDuration(before->second) +
                static_cast<double>(problem.getHop(maker, action.stage)));
  }
  llvm::stable_sort(byStart, [&](Place a, Place b) {
    return starts[a.first][a.second] < starts[b.first][b.second];
  });
}

std::optional<HostUse> Hosts::find() {
  HostUse use;
  for (size_t mesh = 0; mesh < plan.meshes.size(); ++mesh) {
    auto most = std::min(problem.mostLive[mesh],
                         static_cast<int64_t>(plan.meshes[mesh].size()));
    std::optional<HostPlan> found = chooseTrips(
        makeLoad(mesh), makeGroups(mesh), most * kPartsOfMicrobatch);
    if (!found)
      return std::nullopt;
    use.onDevices.push_back(found->peak);
    use.numSent.push_back(0);
    for (const HostTrip &trip : found->trips)
      use.numSent.back() += trip.numValues;
    ++numDecided;
    delay(mesh, found->starts);
  }
  // In whole units, as late as it may be: nothing waits for what is earlier.
  for (auto [mesh, intervals] : llvm::enumerate(timeline.meshes))
    for (auto [index, interval] : llvm::enumerate(intervals)) {
      int64_t duration = interval.stop - interval.start;
      interval.start = static_cast<int64_t>(std::ceil(starts[mesh][index]));
      interval.stop = interval.start + duration;
    }
  return use;
}

std::optional<HostUse> meshwright::findHostUse(const PipelineProblem &problem,
                                               const Plan &plan,
                                               int64_t hostTime,
                                               Timeline &timeline) {
  return Hosts(problem, plan, hostTime, timeline).find();
}
