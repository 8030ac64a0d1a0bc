//===- PlanSearch.cpp - Meshes, stages and schedule for a model -----------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// Layouts are tried in the order of a lower bound, the work of an even share,
// until that is above the second best step found.
//
//===----------------------------------------------------------------------===//

#include "meshwright/Planning/PlanSearch.h"
#include "meshwright/Planning/CutSearch.h"
#include "meshwright/Schedule/Timeline.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/FormatVariadic.h"
#include <cmath>
#include <limits>
#include <map>
#include <tuple>

using namespace meshwright;

/// Units of time of the costliest stage, for the simulation.
static constexpr double kResolution = 1 << 20;
static constexpr int64_t kMostDevices = 1 << 20;
/// Microbatches for each stage; the bubble is nothing beyond.
static constexpr int64_t kMostPerStage = 32;

namespace {
/// A layout without cuts, and the least that it takes.
struct Candidate {
  Layout layout;
  double bound = 0;
  size_t number = 0;
};

class Search {
public:
  explicit Search(const PlanQuestion &question)
      : question(question),
        trains(llvm::any_of(question.layers.layers, [](const Layer &layer) {
          return layer.backwardFlops > 0;
        })) {}

  llvm::Expected<PlanAnswer> run();

private:
  void listCandidates();
  void addCandidates(int64_t meshes, MeshSplit split, int64_t microbatches);
  const StageCosts &getCosts(const Layout &layout);
  const Plan *getPlan(const Layout &layout);
  /// Cuts the layers; false if no cuts fit into the memory.
  bool cut(Layout &layout);
  /// Cuts for a short step, or for little memory whatever the step.
  bool cut(Layout &layout, bool forMemory);
  void measureMemory(Layout &layout);
  bool simulate(Layout &layout);
  bool crossesDomains() const {
    return double(question.devices) > question.device.domain;
  }
  llvm::Error explainMisfit();

  const PlanQuestion &question;
  bool trains; ///< Whether there is a backward pass.
  std::vector<Candidate> candidates;
  using CostsKey = std::tuple<int64_t, int64_t, int64_t, bool>;
  std::map<CostsKey, std::unique_ptr<StageCosts>> costs;
  /// The plan of the last shape, which the next candidate may share.
  const Schedule *planSchedule = nullptr;
  PlanShape planShape{0, 0, 0};
  std::optional<Plan> plan;
  std::vector<LiveCounts> live;
};
} // namespace

static std::vector<const Schedule *> getUsualSchedules() {
  std::vector<const Schedule *> schedules;
  for (llvm::StringRef name :
       {"1F1B", "GPipe", "ZeroBubbleH1", "ZeroBubbleV", "Interleaved1F1B"})
    if (const Schedule *schedule = findSchedule(name))
      schedules.push_back(schedule);
  return schedules;
}

const StageCosts &Search::getCosts(const Layout &layout) {
  CostsKey key{layout.split.data, layout.split.tensor, layout.microbatches,
               layout.recomputes};
  std::unique_ptr<StageCosts> &found = costs[key];
  if (!found)
    found = std::make_unique<StageCosts>(
        question.layers, question.device, layout.split,
        question.layers.batch / layout.microbatches, layout.recomputes);
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
  auto schedules =
      question.schedules.empty() ? getUsualSchedules() : question.schedules;
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
    if (stages > question.layers.layers.size())
      continue;
    layout.placement = std::move(*placement);
    for (bool recomputes : {false, true}) {
      if (recomputes && !trains)
        continue;
      layout.recomputes = recomputes;
      StageCost all = getCosts(layout).get(0, question.layers.layers.size());
      double share =
          (all.getTime() * double(microbatches) + all.stepEnd) / double(meshes);
      candidates.push_back({layout, share, candidates.size()});
    }
  }
}

void Search::listCandidates() {
  const Layers &layers = question.layers;
  for (int64_t meshes = 1; meshes <= question.devices; ++meshes) {
    if (question.devices % meshes ||
        meshes > static_cast<int64_t>(layers.layers.size()))
      continue;
    int64_t each = question.devices / meshes;
    for (int64_t tensor = 1; tensor <= each; tensor *= 2) {
      if (each % tensor || (tensor > 1 && tensor > question.device.domain))
        continue;
      MeshSplit split{each / tensor, tensor};
      for (int64_t count = 1; count <= layers.batch; ++count) {
        if (layers.batch % count || (layers.batch / count) % split.data)
          continue;
        if (layers.microbatches && count != *layers.microbatches)
          continue;
        if (!question.microbatches.empty()
                ? !llvm::is_contained(question.microbatches, count)
                : !layers.microbatches && count > kMostPerStage * meshes)
          continue;
        addCandidates(meshes, split, count);
      }
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
         (cut(layout, true) && layout.peakBytes <= question.memory);
}

bool Search::cut(Layout &layout, bool forMemory) {
  const StageCosts &stages = getCosts(layout);
  double most =
      forMemory ? std::numeric_limits<double>::infinity() : question.memory;
  double chunks = double(layout.chunks);
  auto measure = [&](size_t stage, size_t begin,
                     size_t end) -> std::optional<double> {
    StageCost cost = stages.get(begin, end);
    // The other chunks of the mesh are taken to need as much.
    double counts = double(live[layout.placement[stage]].untilWeight);
    double bytes =
        cost.fixedBytes * chunks + counts * cost.keptBytes + cost.residualBytes;
    if (bytes > most)
      return std::nullopt;
    return forMemory ? bytes : cost.getTime();
  };
  layout.ends = findCuts(
      stages.getCount(), layout.placement.size(), measure,
      [&](size_t end) { return stages.getTransfer(end, crossesDomains()); });
  if (layout.ends.empty())
    return false;
  measureMemory(layout);
  return layout.peakBytes <= most;
}

/// What the fullest device has, by the actions of its mesh in order.
void Search::measureMemory(Layout &layout) {
  const StageCosts &costs = getCosts(layout);
  std::vector<StageCost> stages;
  for (size_t stage = 0, begin = 0; stage < layout.ends.size(); ++stage) {
    stages.push_back(costs.get(begin, layout.ends[stage]));
    begin = layout.ends[stage];
  }
  layout.peakBytes = 0;
  for (auto [mesh, list] : llvm::enumerate(plan->meshes)) {
    double bytes = 0;
    for (auto [stage, place] : llvm::enumerate(layout.placement))
      if (place == static_cast<int64_t>(mesh))
        bytes += stages[stage].fixedBytes;
    double peak = bytes;
    for (const Action &action : list) {
      const StageCost &stage = stages[action.stage];
      if (action.kind == ActionKind::Forward)
        bytes += stage.keptBytes;
      peak = std::max(peak, bytes + stage.residualBytes);
      if (action.kind == ActionKind::Backward ||
          action.kind == ActionKind::Weight)
        bytes -= stage.keptBytes;
    }
    if (peak > layout.peakBytes) {
      layout.peakBytes = peak;
      layout.fullestMesh = static_cast<int64_t>(mesh);
    }
  }
}

bool Search::simulate(Layout &layout) {
  const StageCosts &costs = getCosts(layout);
  PipelineCosts times;
  std::vector<StageCost> stages;
  double longest = 0, transfer = 0;
  for (size_t stage = 0, begin = 0; stage < layout.ends.size(); ++stage) {
    size_t end = layout.ends[stage];
    stages.push_back(costs.get(begin, end));
    longest = std::max(longest, stages.back().getTime());
    if (end < costs.getCount())
      transfer = std::max(transfer, costs.getTransfer(end, crossesDomains()));
    begin = end;
  }
  double unit = std::max(longest, 1e-12) / kResolution;
  auto toUnits = [&](double seconds) {
    return std::max<int64_t>(1, std::llround(seconds / unit));
  };
  for (const StageCost &stage : stages) {
    ActionCosts &action = times.stages.emplace_back();
    action.forward = toUnits(stage.forward);
    action.input = toUnits(stage.input);
    action.weight = toUnits(stage.weight);
    action.backward = action.input + action.weight;
  }
  times.transfer = std::llround(std::min(transfer / unit, 1e15));
  llvm::Expected<Timeline> timeline = simulatePlan(*plan, times);
  if (!timeline) {
    llvm::consumeError(timeline.takeError());
    return false;
  }
  double count = double(layout.microbatches);
  std::vector<StageCost> meshes(layout.meshes);
  for (auto [stage, mesh] : llvm::zip(stages, layout.placement)) {
    meshes[mesh].forward += stage.getTime() * count;
    meshes[mesh].reduces += stage.reduces * count;
    meshes[mesh].stepEnd += stage.stepEnd;
  }
  auto busiest = llvm::max_element(meshes, [](const auto &a, const auto &b) {
    return a.forward < b.forward;
  });
  double makespan = double(timeline->makespan) * unit;
  layout.reduces = busiest->reduces;
  layout.compute = busiest->forward - busiest->reduces;
  layout.idle = std::max(0.0, makespan - busiest->forward);
  for (const StageCost &mesh : meshes)
    layout.stepEnd = std::max(layout.stepEnd, mesh.stepEnd);
  layout.seconds = makespan + layout.stepEnd;
  return true;
}

/// The layout that needs least, if none fits.
llvm::Error Search::explainMisfit() {
  std::optional<Layout> least;
  for (Candidate &candidate : candidates) {
    if (!getPlan(candidate.layout) || !cut(candidate.layout, true))
      continue;
    if (!least || candidate.layout.peakBytes < least->peakBytes)
      least = candidate.layout;
  }
  if (!least)
    return llvm::createStringError(
        "there is no layout to try: no schedule has a plan for these numbers "
        "of meshes, stages and microbatches");
  // Up to the next tenth of a gigabyte, so that what is printed fits.
  return llvm::createStringError(
      llvm::formatv("no plan fits into {0:F2} GB on each of {1} devices; the "
                    "smallest memory with which one does is {2:F2} GB: {3}; "
                    "take more devices, or a smaller microbatch",
                    question.memory / 1e9, question.devices,
                    std::ceil(least->peakBytes / 1e7) / 100, describe(*least))
          .str());
}

llvm::Expected<PlanAnswer> Search::run() {
  if (question.devices < 1 || question.devices > kMostDevices)
    return llvm::createStringError(
        "a plan is for 1 to " + llvm::Twine(kMostDevices) + " devices, not " +
        llvm::Twine(question.devices));
  listCandidates();
  if (candidates.empty())
    return llvm::createStringError(llvm::formatv(
        "there is no way to lay {0} layers out on {1} devices: meshes of equal "
        "size, each with a layer, and a batch of {2} that divides evenly over "
        "microbatches and devices; change the number of devices or the batch",
        question.layers.layers.size(), question.devices,
        question.layers.batch));
  std::optional<Layout> best, second;
  PlanAnswer answer;
  for (Candidate &candidate : candidates) {
    if (second && candidate.bound >= second->seconds)
      break;
    Layout &layout = candidate.layout;
    if (!getPlan(layout) || !cut(layout) || !simulate(layout))
      continue;
    ++answer.fitting;
    if (!best || layout.seconds < best->seconds) {
      second = std::move(best);
      best = layout;
    } else if (!second || layout.seconds < second->seconds) {
      second = layout;
    }
  }
  answer.tried = candidates.size();
  if (!best)
    return explainMisfit();
  answer.best = std::move(*best);
  answer.runnerUp = std::move(second);
  return answer;
}

llvm::Expected<PlanAnswer>
meshwright::findLayout(const PlanQuestion &question) {
  return Search(question).run();
}
