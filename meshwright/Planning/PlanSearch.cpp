//===- PlanSearch.cpp - Meshes, stages and schedule for a model -----------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// Layouts are tried in the order of a lower bound, the work of an even share,
// until that is above the best few steps found, on a timeline where transfers
// do not disturb each other. These few are then simulated as programs are.
//
//===----------------------------------------------------------------------===//

#include "meshwright/Planning/PlanSearch.h"
#include "meshwright/Planning/CutSearch.h"
#include "meshwright/Planning/Finalists.h"
#include "meshwright/Planning/GraphSearch.h"
#include "meshwright/Planning/JointSearch.h"
#include "meshwright/Planning/StepSimulation.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/FormatVariadic.h"
#include <limits>
#include <map>
#include <numeric>
#include <tuple>

using namespace meshwright;

/// Of the shapes of those that are simulated in the end, how many get cuts, places and an order that are searched together,
/// if that is asked for: a search takes seconds.
static constexpr size_t kMostMeasured = 4;
static constexpr int64_t kMostDevices = 1 << 20;
/// Microbatches for each stage; the bubble is nothing beyond.
static constexpr int64_t kMostPerStage = 32;

static std::vector<const Schedule *> getUsualSchedules() {
  std::vector<const Schedule *> schedules;
  for (llvm::StringRef name :
       {"1F1B", "GPipe", "ZeroBubbleH1", "ZeroBubbleV", "Interleaved1F1B",
        "Combined1F1B", "CombinedInterleaved1F1B"})
    if (const Schedule *schedule = findSchedule(name))
      schedules.push_back(schedule);
  return schedules;
}

/// Whether forwards and backwards run as pairs, of which only collectives can be hidden.
static bool hasPairs(const Plan &plan) {
  return llvm::any_of(plan.meshes, [](const ActionList &list) {
    return llvm::any_of(list,
                        [](const Action &action) { return action.joinsNext; });
  });
}

namespace {
/// A layout without cuts, and the least that it takes.
struct Candidate {
  Layout layout;
  double bound = 0;
  size_t number = 0;
};

class Search {
public:
  explicit Search(const PlanInputs &inputs)
      : inputs(inputs),
        trains(llvm::any_of(inputs.layers.layers, [](const Layer &layer) {
          return layer.backwardFlops > 0;
        })) {
    llvm::copy_if(
        inputs.schedules, std::back_inserter(schedules),
        [](const Schedule *schedule) { return !schedule->isSearched; });
    isAutoWanted = schedules.size() < inputs.schedules.size();
    isOnlyAuto = isAutoWanted && schedules.empty();
    // A searched order needs stages, which others cut.
    if (schedules.empty())
      schedules = getUsualSchedules();
  }

  llvm::Expected<PlanResult> run();

private:
  void listCandidates();
  std::vector<int64_t> listMicrobatches(int64_t meshes) const;
  void addCandidates(int64_t meshes, MeshSplit split, int64_t microbatches);
  const StageCosts &getCosts(const Layout &layout);
  const Plan *getPlan(const Layout &layout);
  /// Cuts the layers; false if no cuts fit into the memory.
  bool cut(Layout &layout);
  /// Cuts for a short step, or for little memory whatever the step.
  bool cut(Layout &layout, bool forMemory);
  /// Times a layout by the timeline of its schedule.
  bool setSeconds(Layout &layout);
  /// Replaces the finalists by those whose stages and order are searched, or adds
  /// these.
  void measureFinalists();
  /// Ranks the finalists by the simulated step. Fails if there is none of any,
  /// saying why of one.
  llvm::Error simulateFinalists();
  bool crossesDomains() const {
    return double(inputs.devices) > inputs.device.domain;
  }
  llvm::Error explainTooLarge();

  const PlanInputs &inputs;
  bool trains; ///< Whether there is a backward pass.
  std::vector<const Schedule *> schedules;
  bool isAutoWanted = false, isOnlyAuto = false;
  std::vector<Candidate> candidates;
  std::vector<Layout> finalists; ///< The shortest step first.
  using CostsKey = std::tuple<int64_t, int64_t, int64_t, bool>;
  std::map<CostsKey, std::unique_ptr<StageCosts>> costs;
  /// The plan of the last shape, which the next candidate may share.
  const Schedule *planSchedule = nullptr;
  PlanShape planShape{0, 0, 0};
  std::optional<Plan> plan;
  std::vector<LiveCounts> live;
};
} // namespace

const StageCosts &Search::getCosts(const Layout &layout) {
  CostsKey key{layout.split.data, layout.split.tensor, layout.microbatches,
               layout.recomputes};
  std::unique_ptr<StageCosts> &found = costs[key];
  if (!found)
    found = std::make_unique<StageCosts>(
        inputs.layers, inputs.device, layout.split,
        inputs.layers.batch / layout.microbatches, layout.recomputes);
  return *found;
}

/// Null if the schedule does not exist for the shape.
const Plan *Search::getPlan(const Layout &layout) {
  PlanShape shape{layout.meshes, layout.microbatches, layout.chunks};
  if (planSchedule == layout.schedule && shape.meshes == planShape.meshes &&
      shape.microbatches == planShape.microbatches &&
      shape.chunks == planShape.chunks)
    return plan ? &*plan : nullptr;
  planSchedule = layout.schedule;
  planShape = shape;
  plan.reset();
  llvm::Expected<Plan> made = layout.schedule->makePlan(shape);
  if (!made) {
    llvm::consumeError(made.takeError());
    return nullptr;
  }
  // With less than all of the work, it would seem the best.
  if (trains &&
      !made->isTraining(shape.meshes * shape.chunks, shape.microbatches))
    return nullptr;
  plan = std::move(*made);
  if (!trains)
    for (ActionList &list : plan->meshes)
      llvm::erase_if(list, [](const Action &action) {
        return action.kind != ActionKind::Forward;
      });
  live.clear();
  for (const ActionList &list : plan->meshes)
    live.push_back(countPeakLive(list));
  return &*plan;
}

void Search::addCandidates(int64_t meshes, MeshSplit split,
                           int64_t microbatches) {
  for (const Schedule *schedule : schedules) {
    // On one mesh, and without a backward pass, there is nothing to order.
    if ((meshes == 1 || !trains) && schedule != schedules.front())
      continue;
    Layout layout;
    layout.schedule = schedule;
    layout.meshes = meshes;
    layout.chunks =
        meshes == 1 ? schedule->fewestChunks : schedule->usualChunks;
    layout.split = split;
    layout.microbatches = microbatches;
    size_t stages = layout.meshes * layout.chunks;
    llvm::Expected<std::vector<int64_t>> placement =
        schedule->placeStages(meshes, int64_t(stages));
    if (!placement) {
      llvm::consumeError(placement.takeError());
      continue;
    }
    if (stages > inputs.layers.layers.size())
      continue;
    layout.placement = std::move(*placement);
    for (bool recomputes : {false, true}) {
      // What is computed again is computed before all of a backward.
      if (recomputes && (!trains || schedule->splitsBackward))
        continue;
      layout.recomputes = recomputes;
      StageCost all = getCosts(layout).get(0, inputs.layers.layers.size());
      double share =
          (all.getTime() * double(microbatches) + all.stepEnd) / double(meshes);
      candidates.push_back({layout, share, candidates.size()});
    }
  }
}

/// The numbers that are asked for, or all that may be worth it; in order.
std::vector<int64_t> Search::listMicrobatches(int64_t meshes) const {
  const Layers &layers = inputs.layers;
  std::vector<int64_t> counts = inputs.microbatches;
  llvm::sort(counts);
  counts.erase(llvm::unique(counts), counts.end());
  if (layers.microbatches) {
    bool isWanted =
        counts.empty() || llvm::is_contained(counts, *layers.microbatches);
    return std::vector<int64_t>(isWanted, *layers.microbatches);
  }
  if (counts.empty()) {
    counts.resize(std::min(layers.batch, kMostPerStage * meshes));
    std::iota(counts.begin(), counts.end(), 1);
  }
  return counts;
}

void Search::listCandidates() {
  const Layers &layers = inputs.layers;
  for (int64_t meshes = 1; meshes <= inputs.devices; ++meshes) {
    if (inputs.devices % meshes ||
        meshes > static_cast<int64_t>(layers.layers.size()) ||
        (!inputs.meshes.empty() && !llvm::is_contained(inputs.meshes, meshes)))
      continue;
    int64_t each = inputs.devices / meshes;
    std::vector<int64_t> counts = listMicrobatches(meshes);
    for (int64_t tensor = 1; tensor <= each; tensor *= 2) {
      if (each % tensor || (tensor > 1 && tensor > inputs.device.domain))
        continue;
      MeshSplit split{each / tensor, tensor};
      for (int64_t count : counts)
        if (layers.batch % count == 0 &&
            (layers.batch / count) % split.data == 0)
          addCandidates(meshes, split, count);
    }
  }
  // Of equal ones the first stays first.
  llvm::sort(candidates, [](const Candidate &a, const Candidate &b) {
    return std::tie(a.bound, a.number) < std::tie(b.bound, b.number);
  });
}

/// Where stages share a mesh, cuts for a short step are looked for among those
/// that surely fit; the ones for little memory are more than nothing.
bool Search::cut(Layout &layout) {
  return cut(layout, false) ||
         (cut(layout, true) && layout.peakBytes <= inputs.memory);
}

bool Search::cut(Layout &layout, bool forMemory) {
  const StageCosts &stages = getCosts(layout);
  double most =
      forMemory ? std::numeric_limits<double>::infinity() : inputs.memory;
  double chunks = double(layout.chunks);
  auto measure = [&](size_t stage, size_t begin, size_t end) -> StageMeasure {
    StageCost cost = stages.get(begin, end);
    // The other chunks of the mesh are taken to need as much.
    double counts = double(live[layout.placement[stage]].untilWeight);
    double bytes =
        cost.fixedBytes * chunks + counts * cost.keptBytes + cost.residualBytes;
    // What a stage that computes again keeps is what goes into its first layer.
    double leastBytes = layout.recomputes
                            ? cost.fixedBytes * chunks + cost.residualBytes
                            : bytes;
    if (leastBytes > most)
      return {std::nullopt, std::numeric_limits<double>::infinity()};
    double least = forMemory ? leastBytes : cost.getTime();
    if (bytes > most)
      return {std::nullopt, least};
    return {forMemory ? bytes : cost.getTime(), least};
  };
  layout.ends = findCuts(
      stages.getCount(), layout.placement.size(), measure,
      [&](size_t end) { return stages.getTransfer(end, crossesDomains()); });
  if (layout.ends.empty())
    return false;
  measureMemory(stages, *plan, layout);
  return layout.peakBytes <= most;
}

bool Search::setSeconds(Layout &layout) {
  const StageCosts &costs = getCosts(layout);
  UnitTimes times = makeUnitTimes(costs, layout, crossesDomains());
  llvm::Expected<Timeline> timeline = simulatePlan(*plan, times.costs);
  if (!timeline) {
    llvm::consumeError(timeline.takeError());
    return false;
  }
  for (const StageCost &stage : getStages(costs, layout))
    layout.stepEnd = std::max(layout.stepEnd, stage.stepEnd);
  layout.seconds = double(timeline->makespan) * times.unit + layout.stepEnd;
  return true;
}

/// Whether two layouts differ in their stages alone.
static bool haveSameShape(const Layout &a, const Layout &b) {
  return a.meshes == b.meshes && a.microbatches == b.microbatches &&
         a.split.data == b.split.data && a.split.tensor == b.split.tensor &&
         a.recomputes == b.recomputes;
}

void Search::measureFinalists() {
  std::vector<Layout> measured;
  llvm::SmallVector<const Layout *, kMostMeasured> shapes;
  for (const Layout &layout : finalists) {
    if (shapes.size() == kMostMeasured)
      break;
    if (llvm::any_of(shapes, [&](const Layout *other) {
          return haveSameShape(layout, *other);
        }))
      continue;
    shapes.push_back(&layout);
    std::vector<Layout> starts;
    llvm::copy_if(
        finalists, std::back_inserter(starts),
        [&](const Layout &other) { return haveSameShape(layout, other); });
    if (std::optional<Layout> found =
            searchJointly(inputs, getCosts(layout), starts))
      measured.push_back(std::move(*found));
  }
  if (isOnlyAuto)
    finalists.clear();
  llvm::append_range(finalists, measured);
}

llvm::Error Search::simulateFinalists() {
  std::string problem;
  llvm::erase_if(finalists, [&](Layout &layout) {
    const Plan *order =
        layout.measured ? layout.measured.get() : getPlan(layout);
    llvm::Error error = simulateStep(inputs, getCosts(layout), *order, layout);
    if (!error)
      return false;
    problem = describe(layout) + ": " + llvm::toString(std::move(error));
    return true;
  });
  if (finalists.empty())
    return llvm::createStringError("no plan can be simulated: " + problem);
  return llvm::Error::success();
}

/// The layout that needs least, if none fits.
llvm::Error Search::explainTooLarge() {
  std::optional<Layout> least;
  for (Candidate &candidate : candidates) {
    if (!getPlan(candidate.layout) || !cut(candidate.layout, true))
      continue;
    if (!least || candidate.layout.peakBytes < least->peakBytes)
      least = candidate.layout;
  }
  return makeTooLargeError(inputs, least);
}

llvm::Expected<PlanResult> Search::run() {
  if (inputs.devices < 1 || inputs.devices > kMostDevices)
    return llvm::createStringError(
        "expected 1 to " + llvm::Twine(kMostDevices) + " devices, got " +
        llvm::Twine(inputs.devices));
  if (isAutoWanted && !trains)
    return llvm::createStringError(
        "schedule auto orders forward and backward work, but these layers have "
        "no backward pass; take another schedule");
  listCandidates();
  if (candidates.empty())
    return llvm::createStringError(llvm::formatv(
        "there is no way to lay {0} layers out on {1} devices: meshes of equal "
        "size, each with a layer, and a batch of {2} that divides evenly over "
        "microbatches and devices; change the number of devices or the batch",
        inputs.layers.layers.size(), inputs.devices, inputs.layers.batch));
  PlanResult result;
  result.tried = candidates.size();
  for (Candidate &candidate : candidates) {
    if (finalists.size() == kMostFinalists &&
        candidate.bound >= finalists.back().seconds)
      break;
    Layout &layout = candidate.layout;
    const Plan *order = getPlan(layout);
    if (!order || (layout.split.tensor == 1 && inputs.schedules.empty() &&
                   hasPairs(*order)))
      continue;
    if (!cut(layout) || !setSeconds(layout))
      continue;
    layout.hasPairs = hasPairs(*order);
    ++result.fitting;
    addFinalist(finalists, layout);
  }
  if (finalists.empty())
    return explainTooLarge();
  if (isAutoWanted)
    measureFinalists();
  if (finalists.empty())
    return makeNoOrderError();
  if (llvm::Error error = simulateFinalists())
    return error;
  rankFinalists(std::move(finalists), result);
  return result;
}

llvm::Expected<PlanResult> meshwright::findLayout(const PlanInputs &inputs) {
  if (!inputs.layers.towers.empty())
    return findGraphLayout(inputs);
  return Search(inputs).run();
}
