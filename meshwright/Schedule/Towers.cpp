//===- Towers.cpp - Each tower in the order of its own schedule -----------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// The schedule of a tower knows nothing of the stages after it, whose forward and
// backward come between its own. So its forwards go ahead by as many as its last
// stage needs to keep one microbatch more than those that it feeds:
//
//   text, 1F1B     | .  .  F0 F1 B0=== F2 B1=== ...    keeps 2, 1
//   vision, 1F1B   | F0 F1 F2 .  .  .  B0=== ...       keeps 3, not 1
//
// With 1F1B everywhere each stage then keeps as many as there are stages from it to
// the end, as in a chain. On a mesh of several towers, what is ready first runs
// first, of several the last tower's; the order of each tower stays.
//
//===----------------------------------------------------------------------===//

#include "meshwright/Schedule/Builtin/BuiltinSchedules.h"
#include "meshwright/Schedule/Timeline.h"
#include "llvm/ADT/STLExtras.h"
#include <algorithm>

using namespace meshwright;

namespace {
/// What one tower does on one mesh.
struct Lane {
  int64_t tower;
  int64_t mesh;
  ActionList list;
};

/// Runs all lanes at once, each in its order, and notes in which order the meshes
/// take them.
class Merging {
public:
  Merging(const PlanShape &shape, llvm::ArrayRef<Lane> lanes);

  /// None if lanes wait for each other.
  std::optional<Plan> run();

private:
  int64_t &getStop(int64_t stage, int kind, int64_t microbatch) {
    return stops[(stage * 3 + kind) * shape.microbatches + microbatch];
  }
  std::optional<int64_t> findStart(const Lane &lane, const Action &action);

  const PlanShape &shape;
  llvm::ArrayRef<Lane> lanes;
  StageLinks links;
  std::vector<int64_t> stops; ///< -1 for what has not run.
  std::vector<int64_t> free;
  std::vector<size_t> next;
};
} // namespace

static llvm::Error makeTowerError(const Tower &tower, const llvm::Twine &text) {
  return llvm::createStringError("tower " + tower.name + ": " + text);
}

static llvm::Error checkSchedule(const Tower &tower, const Schedule &schedule) {
  if (schedule.takesTowers)
    return makeTowerError(
        tower, "schedule " + schedule.name +
                   " orders all towers at once; name it for the whole program, "
                   "or give the tower a schedule of one chain");
  if (schedule.needsSumsApart || schedule.backwardRunsLastFirst)
    return makeTowerError(
        tower,
        "schedule " + schedule.name +
            " runs microbatches backwards, or has the model twice, which "
            "other towers cannot follow; take another, such as 1F1B");
  return llvm::Error::success();
}

/// The lists of a tower by itself, with the numbers of its stages among all.
static llvm::Expected<std::vector<ActionList>> listTower(const Tower &tower,
                                                         int64_t microbatches) {
  const Schedule &schedule = *findSchedule(tower.schedule);
  if (llvm::Error error = checkSchedule(tower, schedule))
    return error;
  auto meshes = static_cast<int64_t>(tower.meshes.size());
  if (auto places = schedule.placeStages(meshes, tower.count); !places)
    return makeTowerError(tower, llvm::toString(places.takeError()));
  llvm::Expected<Plan> plan =
      schedule.makePlan({meshes, microbatches, tower.count / meshes});
  if (!plan)
    return makeTowerError(tower, llvm::toString(plan.takeError()));
  if (!plan->isTraining(tower.count, microbatches))
    return makeTowerError(tower, "schedule " + schedule.name +
                                     " is not for training; take another, such "
                                     "as 1F1B");
  for (ActionList &list : plan->meshes)
    for (Action &action : list) {
      if (action.joinsNext)
        return makeTowerError(tower,
                              "schedule " + schedule.name +
                                  " has overlapped pairs, which towers "
                                  "have no place for; take another, such "
                                  "as 1F1B");
      action.stage += tower.first;
    }
  return std::move(plan->meshes);
}

/// Each forward runs before `more` backwards that were before it.
static ActionList pullForwards(const ActionList &list, size_t more) {
  ActionList forwards, pulled;
  llvm::copy_if(list, std::back_inserter(forwards), [](const Action &action) {
    return action.kind == ActionKind::Forward;
  });
  size_t taken = 0, wanted = more;
  for (const Action &action : list) {
    if (action.kind == ActionKind::Forward) {
      ++wanted;
      continue;
    }
    for (; taken < std::min(wanted, forwards.size()); ++taken)
      pulled.push_back(forwards[taken]);
    pulled.push_back(action);
  }
  return pulled;
}

/// The most microbatches of a stage that wait for their gradient.
static int64_t countKept(llvm::ArrayRef<ActionList> lists, int64_t stage) {
  int64_t now = 0, most = 0;
  for (const ActionList &list : lists)
    for (const Action &action : list)
      if (action.stage == stage && action.kind != ActionKind::Weight)
        most =
            std::max(most, now += action.kind == ActionKind::Forward ? 1 : -1);
  return most;
}

static std::vector<ActionList> pullAll(llvm::ArrayRef<ActionList> lists,
                                       size_t more) {
  std::vector<ActionList> pulled;
  for (const ActionList &list : lists)
    pulled.push_back(pullForwards(list, more));
  return pulled;
}

/// Pulls forwards ahead until each stage of the tower that feeds others keeps one
/// microbatch more than those. `kept` is what stages after the tower keep.
static std::vector<ActionList> pullAhead(const PlanShape &shape,
                                         const Tower &tower,
                                         llvm::ArrayRef<ActionList> lists,
                                         llvm::ArrayRef<int64_t> kept) {
  auto keepsEnough = [&](size_t more) {
    std::vector<ActionList> pulled = pullAll(lists, more);
    return llvm::all_of(shape.graph.feeds, [&](auto feed) {
      return !tower.has(feed.first) ||
             countKept(pulled, feed.first) >=
                 std::min(kept[feed.second] + 1, shape.microbatches);
    });
  };
  size_t least = 0, most = tower.count * shape.microbatches;
  while (least < most) {
    size_t middle = (least + most) / 2;
    if (keepsEnough(middle))
      most = middle;
    else
      least = middle + 1;
  }
  return pullAll(lists, least);
}

Merging::Merging(const PlanShape &shape, llvm::ArrayRef<Lane> lanes)
    : shape(shape), lanes(lanes), links(shape.graph, shape.countStages()),
      stops(shape.countStages() * 3 * shape.microbatches, -1),
      free(shape.meshes), next(lanes.size()) {}

std::optional<int64_t> Merging::findStart(const Lane &lane,
                                          const Action &action) {
  int64_t start = free[lane.mesh];
  bool isReady = true;
  auto need = [&](int64_t stage, int kind) {
    int64_t stop = getStop(stage, kind, action.microbatch);
    isReady &= stop >= 0;
    start = std::max(start, stop);
  };
  if (action.kind == ActionKind::Forward) {
    for (int64_t before : links.before[action.stage])
      need(before, 0);
  } else if (action.kind == ActionKind::Weight) {
    need(action.stage, 1);
  } else {
    need(action.stage, 0);
    for (int64_t after : links.after[action.stage])
      need(after, 1);
  }
  return isReady ? std::optional(start) : std::nullopt;
}

std::optional<Plan> Merging::run() {
  Plan plan;
  plan.meshes.resize(shape.meshes);
  size_t left = 0;
  for (const Lane &lane : lanes)
    left += lane.list.size();
  for (; left > 0; --left) {
    std::optional<int64_t> earliest;
    size_t chosen = 0;
    for (auto [index, lane] : llvm::enumerate(lanes)) {
      if (next[index] == lane.list.size())
        continue;
      std::optional<int64_t> start = findStart(lane, lane.list[next[index]]);
      if (start && (!earliest || *start <= *earliest)) {
        earliest = start;
        chosen = index;
      }
    }
    if (!earliest)
      return std::nullopt;
    const Lane &lane = lanes[chosen];
    const Action &action = lane.list[next[chosen]++];
    int64_t stop = *earliest + ActionCosts().get(action.kind);
    int kind = action.kind == ActionKind::Forward  ? 0
               : action.kind == ActionKind::Weight ? 2
                                                   : 1;
    getStop(action.stage, kind, action.microbatch) = free[lane.mesh] = stop;
    plan.meshes[lane.mesh].push_back(action);
  }
  return plan;
}

/// Without towers, the stages are one, in the order of 1F1B.
static PlanShape completeShape(const PlanShape &shape) {
  PlanShape whole = shape;
  if (!whole.graph.isChain())
    return whole;
  Tower tower{"stages", 0, shape.meshes, {}, "1F1B", /*hasLoss=*/true};
  for (int64_t mesh = 0; mesh < shape.meshes; ++mesh)
    tower.meshes.push_back(mesh);
  whole.graph.towers.push_back(std::move(tower));
  return whole;
}

static llvm::Expected<Plan> makeTowersPlan(const PlanShape &given) {
  PlanShape shape = completeShape(given);
  std::vector<std::vector<ActionList>> lists;
  for (const Tower &tower : shape.graph.towers) {
    auto own = listTower(tower, shape.microbatches);
    if (!own)
      return own.takeError();
    lists.push_back(std::move(*own));
  }
  std::vector<int64_t> kept(shape.countStages());
  for (auto [tower, own] :
       llvm::reverse(llvm::zip_equal(shape.graph.towers, lists))) {
    own = pullAhead(shape, tower, own, kept);
    for (int64_t stage = tower.first; stage < tower.first + tower.count;
         ++stage)
      kept[stage] = countKept(own, stage);
  }
  // What keeps enough may still wait in schedules that are not 1F1B.
  for (bool isLast : {false, true}) {
    std::vector<Lane> lanes;
    for (auto [index, tower] : llvm::enumerate(shape.graph.towers))
      for (auto [mesh, list] : llvm::zip_equal(tower.meshes, lists[index]))
        lanes.push_back({static_cast<int64_t>(index), mesh,
                         isLast ? pullForwards(list, list.size()) : list});
    if (std::optional<Plan> plan = Merging(shape, lanes).run())
      return std::move(*plan);
  }
  return llvm::createStringError(
      "the schedules of the towers wait for each other; take 1F1B or GPipe");
}

const Schedule meshwright::kTowers =
    Schedule{"Towers", "TOWERS",
             "a graph of towers, each in the order of a schedule of its own",
             "Meshwright", makeTowersPlan}
        .with(&Schedule::takesTowers, true);
