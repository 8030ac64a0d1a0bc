//===- GraphSearch.cpp - Meshes for each tower of a model -----------------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// For each number of meshes, all ways to share them out among the towers, as long as
// these are few; else the way in which the costliest stage is cheapest, to which the
// next mesh always goes, and its neighbours. Each tower is cut by itself, so a tower
// is cut once for each number of meshes that it may have.
//
//===----------------------------------------------------------------------===//

#include "meshwright/Planning/GraphSearch.h"
#include "meshwright/Planning/CutSearch.h"
#include "meshwright/Planning/Finalists.h"
#include "meshwright/Planning/StepSimulation.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/FormatVariadic.h"
#include <map>
#include <memory>
#include <numeric>
#include <optional>
#include <tuple>

using namespace meshwright;

/// Of the layouts that are simulated in the end, how many get a searched order.
static constexpr size_t kMostSearchedOrders = 4;
/// Ways to share meshes out, of which all are tried.
static constexpr size_t kMostShares = 64;
/// Microbatches for each mesh; the bubble is nothing beyond.
static constexpr int64_t kMostMicrobatchesPerMesh = 32;

namespace {
/// A tower cut for a number of meshes.
struct TowerCut {
  std::vector<size_t> ends; ///< In layers of all; empty if there is no way.
  double longest = 0;       ///< Of its stages, in seconds.
};
using Share = std::vector<int64_t>; ///< How many meshes each tower has.

class TowerSearch {
public:
  explicit TowerSearch(const PlanInputs &inputs);

  llvm::Expected<PlanResult> run();

private:
  llvm::Error check() const;
  void tryMeshes(int64_t meshes, MeshSplit split, int64_t microbatches);
  void tryShare(const Layout &shape, const Share &share,
                const StageCosts &costs);
  void trySchedule(Layout layout, llvm::StringRef schedule,
                   const StageCosts &costs);
  std::vector<Share> listShares(int64_t meshes, const StageCosts &costs);
  const TowerCut &cut(size_t tower, int64_t meshes, const StageCosts &costs);
  StageGraph makeGraph(const Share &share, llvm::ArrayRef<size_t> ends) const;
  const StageCosts &getCosts(const Layout &layout);
  void measureFinalists();
  bool crossesDomains() const {
    return double(inputs.devices) > inputs.device.domain;
  }

  const PlanInputs &inputs;
  const std::vector<LayerTower> &towers;
  std::vector<llvm::StringRef> schedules; ///< Those of towers to try.
  bool isAutoWanted = false, isOnlyAuto = false;
  std::map<std::pair<size_t, int64_t>, TowerCut>
      cuts; ///< For the costs at hand.
  using CostsKey = std::tuple<int64_t, int64_t, int64_t>;
  std::map<CostsKey, std::unique_ptr<StageCosts>> costsOf;
  std::vector<Layout> finalists; ///< The shortest step first.
  std::optional<Layout> least;   ///< The one that needs the smallest memory.
  PlanResult result;
};
} // namespace

TowerSearch::TowerSearch(const PlanInputs &inputs)
    : inputs(inputs), towers(inputs.layers.towers) {
  for (const Schedule *schedule : inputs.schedules) {
    if (schedule->isSearched)
      isAutoWanted = true;
    else if (!schedule->takesTowers)
      schedules.push_back(schedule->name);
  }
  isOnlyAuto = isAutoWanted && inputs.schedules.size() == 1;
  if (schedules.empty())
    schedules = {"1F1B", "GPipe", "ZeroBubbleH1"};
}

llvm::Error TowerSearch::check() const {
  if (inputs.devices < 1)
    return llvm::createStringError("expected 1 device or more");
  std::vector<bool> isRead(towers.size());
  for (const Layer &layer : inputs.layers.layers) {
    if (layer.backwardFlops == 0 && layer.flops > 0)
      return llvm::createStringError(
          "towers are planned for training, but layer " + layer.name +
          " has no backward pass; leave \"tower\" out");
    for (auto [index, tower] : llvm::enumerate(towers))
      if (llvm::is_contained(layer.reads, tower.name))
        isRead[index] = true;
  }
  for (size_t index = 0; index + 1 < towers.size(); ++index)
    if (!isRead[index])
      return llvm::createStringError(
          "no path leads from tower " + towers[index].name +
          " to the loss; say in \"reads\" which layers read it");
  return llvm::Error::success();
}

const StageCosts &TowerSearch::getCosts(const Layout &layout) {
  std::unique_ptr<StageCosts> &found =
      costsOf[{layout.split.data, layout.split.tensor, layout.microbatches}];
  if (!found)
    found = std::make_unique<StageCosts>(
        inputs.layers, inputs.device, layout.split,
        inputs.layers.batch / layout.microbatches, /*recomputes=*/false);
  return *found;
}

const TowerCut &TowerSearch::cut(size_t tower, int64_t meshes,
                                 const StageCosts &costs) {
  auto [entry, isNew] = cuts.try_emplace({tower, meshes});
  TowerCut &found = entry->second;
  if (!isNew)
    return found;
  size_t begin = towers[tower].begin, count = towers[tower].end - begin;
  found.ends = findCuts(
      count, meshes,
      [&](size_t, size_t first, size_t last) -> StageMeasure {
        double time = costs.get(begin + first, begin + last).getTime();
        return {time, time};
      },
      [&](size_t end) {
        return costs.getTransfer(begin + end, crossesDomains());
      });
  size_t first = begin;
  for (size_t &end : found.ends) {
    end += begin;
    found.longest = std::max(found.longest, costs.get(first, end).getTime());
    first = end;
  }
  return found;
}

/// Adds all ways to share out what is left of the meshes, up to a number.
static void listAll(llvm::ArrayRef<int64_t> most, int64_t left, Share &share,
                    std::vector<Share> &shares) {
  if (shares.size() > kMostShares)
    return;
  size_t rest = most.size() - share.size();
  if (rest == 0) {
    if (left == 0)
      shares.push_back(share);
    return;
  }
  for (int64_t own = 1; own <= most[share.size()] &&
                        left - own >= static_cast<int64_t>(rest) - 1;
       ++own) {
    share.push_back(own);
    listAll(most, left - own, share, shares);
    share.pop_back();
  }
}

std::vector<Share> TowerSearch::listShares(int64_t meshes,
                                           const StageCosts &costs) {
  std::vector<int64_t> most;
  for (const LayerTower &tower : towers)
    most.push_back(static_cast<int64_t>(tower.end - tower.begin));
  std::vector<Share> shares;
  Share share;
  listAll(most, meshes, share, shares);
  if (shares.size() <= kMostShares)
    return shares;
  Share best(towers.size(), 1);
  for (int64_t left = meshes - static_cast<int64_t>(towers.size()); left > 0;
       --left) {
    std::optional<size_t> costliest;
    for (size_t tower = 0; tower < towers.size(); ++tower)
      if (best[tower] < most[tower] &&
          (!costliest || cut(tower, best[tower], costs).longest >
                             cut(*costliest, best[*costliest], costs).longest))
        costliest = tower;
    ++best[*costliest];
  }
  shares = {best};
  for (size_t from = 0; from < towers.size(); ++from)
    for (size_t to = 0; to < towers.size(); ++to)
      if (from != to && best[from] > 1 && best[to] < most[to]) {
        Share next = best;
        --next[from];
        ++next[to];
        shares.push_back(std::move(next));
      }
  return shares;
}

StageGraph TowerSearch::makeGraph(const Share &share,
                                  llvm::ArrayRef<size_t> ends) const {
  StageGraph graph;
  int64_t first = 0;
  for (auto [tower, count] : llvm::zip_equal(towers, share)) {
    Tower &made = graph.towers.emplace_back();
    made.name = tower.name;
    made.first = first;
    made.count = count;
    for (int64_t stage = first; stage < first + count; ++stage)
      made.meshes.push_back(stage);
    first += count;
  }
  graph.towers.back().hasLoss = true;
  for (auto [index, layer] : llvm::enumerate(inputs.layers.layers))
    for (const std::string &read : layer.reads) {
      auto giver = llvm::find_if(
          graph.towers, [&](const Tower &tower) { return tower.name == read; });
      std::pair feed(giver->first + giver->count - 1,
                     llvm::upper_bound(ends, index) - ends.begin());
      if (!llvm::is_contained(graph.feeds, feed))
        graph.feeds.push_back(feed);
    }
  llvm::sort(graph.feeds);
  return graph;
}

static llvm::Expected<Plan> makePlan(const Layout &layout) {
  PlanShape shape{layout.meshes, layout.microbatches};
  shape.graph = layout.graph;
  return findSchedule("Towers")->makePlan(shape);
}

void TowerSearch::trySchedule(Layout layout, llvm::StringRef schedule,
                              const StageCosts &costs) {
  ++result.tried;
  for (Tower &tower : layout.graph.towers)
    tower.schedule = schedule.str();
  llvm::Expected<Plan> plan = makePlan(layout);
  if (!plan) {
    llvm::consumeError(plan.takeError());
    return;
  }
  measureMemory(costs, *plan, layout);
  if (!least || layout.peakBytes < least->peakBytes)
    least = layout;
  if (layout.peakBytes > inputs.memory)
    return;
  UnitTimes times = makeUnitTimes(costs, layout, crossesDomains());
  for (const StageCost &stage : getStages(costs, layout))
    layout.stepEnd = std::max(layout.stepEnd, stage.stepEnd);
  Timeline timeline = llvm::cantFail(simulatePlan(*plan, times.costs));
  layout.seconds = double(timeline.makespan) * times.unit + layout.stepEnd;
  ++result.fitting;
  addFinalist(finalists, layout);
}

void TowerSearch::tryShare(const Layout &shape, const Share &share,
                           const StageCosts &costs) {
  Layout layout = shape;
  double longest = 0;
  for (auto [tower, count] : llvm::enumerate(share)) {
    const TowerCut &found = cut(tower, count, costs);
    if (found.ends.empty())
      return;
    llvm::append_range(layout.ends, found.ends);
    longest = std::max(longest, found.longest);
  }
  // The costliest stage alone may take too long.
  if (finalists.size() == kMostFinalists &&
      longest * double(layout.microbatches) > finalists.back().seconds)
    return;
  layout.placement.resize(layout.meshes);
  std::iota(layout.placement.begin(), layout.placement.end(), 0);
  layout.graph = makeGraph(share, layout.ends);
  for (llvm::StringRef schedule : schedules)
    trySchedule(layout, schedule, costs);
}

void TowerSearch::tryMeshes(int64_t meshes, MeshSplit split,
                            int64_t microbatches) {
  Layout layout;
  layout.schedule = findSchedule("Towers");
  layout.meshes = meshes;
  layout.microbatches = microbatches;
  layout.split = split;
  const StageCosts &costs = getCosts(layout);
  cuts.clear();
  for (const Share &share : listShares(meshes, costs))
    tryShare(layout, share, costs);
}

void TowerSearch::measureFinalists() {
  std::vector<Layout> measured;
  for (const Layout &layout : finalists) {
    if (measured.size() == kMostSearchedOrders)
      break;
    if (llvm::any_of(measured, [&](const Layout &other) {
          return other.ends == layout.ends &&
                 other.microbatches == layout.microbatches &&
                 other.split.data == layout.split.data;
        }))
      continue;
    Layout made = layout;
    made.schedule = findSchedule("auto");
    const StageCosts &costs = getCosts(made);
    UnitTimes times = makeUnitTimes(costs, made, crossesDomains());
    std::optional<Plan> found =
        makeMeasuredPlan(inputs, costs, made, times.costs);
    if (!found)
      continue;
    made.measured = std::make_shared<const Plan>(std::move(*found));
    measured.push_back(std::move(made));
  }
  if (isOnlyAuto)
    finalists.clear();
  llvm::append_range(finalists, measured);
}

llvm::Expected<PlanResult> TowerSearch::run() {
  if (llvm::Error error = check())
    return error;
  const Layers &layers = inputs.layers;
  auto fewest = static_cast<int64_t>(towers.size());
  auto most = static_cast<int64_t>(layers.layers.size());
  for (int64_t meshes = fewest; meshes <= std::min(inputs.devices, most);
       ++meshes) {
    if (inputs.devices % meshes)
      continue;
    int64_t each = inputs.devices / meshes;
    for (int64_t count = 1;
         count <= std::min(layers.batch, kMostMicrobatchesPerMesh * meshes);
         ++count) {
      if (layers.batch % count ||
          (layers.microbatches && count != *layers.microbatches) ||
          (!inputs.microbatches.empty() &&
           !llvm::is_contained(inputs.microbatches, count)))
        continue;
      for (int64_t tensor = 1; tensor <= each; tensor *= 2)
        if (each % tensor == 0 &&
            (tensor == 1 || double(tensor) <= inputs.device.domain) &&
            (layers.batch / count) % (each / tensor) == 0)
          tryMeshes(meshes, {each / tensor, tensor}, count);
    }
  }
  if (result.tried == 0)
    return llvm::createStringError(llvm::formatv(
        "there is no way to lay {0} towers out on {1} devices: meshes of equal "
        "size, at least one for each tower, and a batch of {2} that divides "
        "evenly over microbatches and devices; change the number of devices or "
        "the batch",
        towers.size(), inputs.devices, layers.batch));
  if (finalists.empty())
    return makeTooLargeError(inputs, least);
  if (isAutoWanted)
    measureFinalists();
  for (Layout &layout : finalists) {
    Plan plan =
        layout.measured ? *layout.measured : llvm::cantFail(makePlan(layout));
    if (llvm::Error error =
            simulateStep(inputs, getCosts(layout), plan, layout))
      return error;
  }
  if (finalists.empty())
    return makeNoOrderError();
  rankFinalists(std::move(finalists), result);
  return std::move(result);
}

llvm::Expected<PlanResult>
meshwright::findGraphLayout(const PlanInputs &inputs) {
  return TowerSearch(inputs).run();
}
