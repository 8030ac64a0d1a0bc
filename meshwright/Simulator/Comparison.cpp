//===- Comparison.cpp - Which schedule, how many microbatches -------------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

#include "meshwright/Simulator/Comparison.h"
#include "meshwright/Cost/TensorBytes.h"
#include "meshwright/Schedule/Schedule.h"
#include "meshwright/Schedule/Search/SearchedPlan.h"
#include "meshwright/Simulator/Simulation.h"
#include "meshwright/Simulator/Times.h"
#include "meshwright/Text/TextTable.h"
#include "meshwright/Text/Utf8.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/JSON.h"
#include <algorithm>
#include <numeric>

using namespace meshwright;

static llvm::Expected<PlanShape> getShape(const ComparisonRequest &request,
                                          int64_t microbatches) {
  int64_t chunks = request.stages / request.meshes;
  if (chunks * request.meshes != request.stages)
    return llvm::createStringError(
        llvm::formatv("{0} stages cannot be divided evenly over {1} meshes; "
                      "take a multiple of {1}",
                      request.stages, request.meshes));
  return PlanShape{request.meshes, microbatches, chunks};
}

static llvm::Error simulateInto(Combination &found, const Plan &plan,
                                const PipelineModel &model,
                                const ComparisonRequest &request) {
  Workload workload = makeWorkload(plan, model);
  llvm::Expected<Simulation> simulation = simulate(workload);
  if (!simulation)
    return simulation.takeError();
  found.makespan = simulation->makespan;
  found.bubble = simulation->getBubble();
  found.peakBytes = 0;
  for (auto [mesh, figures] : llvm::zip(workload.meshes, simulation->meshes))
    if (figures.peakBytes >= found.peakBytes) {
      found.peakBytes = figures.peakBytes;
      found.peakMesh = mesh.name;
    }
  found.fits = request.memory == 0 || found.peakBytes <= request.memory;
  return llvm::Error::success();
}

//===----------------------------------------------------------------------===//
// Made to measure
//===----------------------------------------------------------------------===//

/// What each mesh has room for, in stages of a microbatch: what memory says, or
/// as much as 1F1B keeps.
static std::vector<int64_t> findMemoryLimits(const PlanShape &shape,
                                             const PipelineModel &model,
                                             int64_t memory) {
  if (memory == 0)
    return std::vector<int64_t>(shape.meshes, getUsualLimit(shape));
  std::vector<int64_t> limits;
  for (int64_t mesh = 0; mesh < shape.meshes; ++mesh) {
    int64_t fixed = 0, each = 1;
    for (int64_t chunk = 0; chunk < shape.chunks; ++chunk) {
      const StageModel &stage = model.get(chunk * shape.meshes + mesh);
      addCount(fixed, stage.parameterBytes);
      addCount(fixed, stage.gradientBytes);
      int64_t kept = stage.bytesUntilInput;
      addCount(kept, stage.bytesUntilWeight);
      each = std::max(each, kept);
    }
    limits.push_back(std::clamp((memory - fixed) / each, shape.chunks,
                                shape.microbatches * shape.chunks));
  }
  return limits;
}

/// Rounded; a time may be as long as can be counted.
static int64_t toUnits(Ticks time, Ticks unit) {
  return time / unit + (time % unit >= unit - unit / 2);
}

/// What the stages take, and the longest transfer, in ticks.
static BucketCosts findTimes(const PipelineModel &model, int64_t numStages,
                             int64_t microbatch, Ticks &transfer) {
  BucketCosts costs;
  for (int64_t index = 0; index < numStages; ++index) {
    const StageModel &stage = model.get(index, microbatch);
    costs.stages.push_back(stage.times);
    for (const StageTransfer &way : {stage.toNext, stage.toPrevious}) {
      Ticks whole = way.duration;
      addCount(whole, way.latency);
      transfer = std::max(transfer, whole);
    }
  }
  return costs;
}

/// The times of a search: transfers all take as long as the longest.
static PipelineCosts makeCosts(const PipelineModel &model, int64_t numStages) {
  // Fine enough for any difference that matters.
  constexpr Ticks kMostUnits = 1 << 20;
  std::vector<BucketCosts> buckets(std::max<size_t>(1, model.buckets.size()));
  Ticks longest = 0, unit = 0, transfer = 0;
  for (auto [number, bucket] : llvm::enumerate(buckets)) {
    auto first = llvm::find(model.bucketOf, number) - model.bucketOf.begin();
    bucket = findTimes(model, numStages, first, transfer);
    for (const ActionCosts &times : bucket.stages)
      for (Ticks time :
           {times.forward, times.input, times.weight, times.backward}) {
        longest = std::max(longest, time);
        unit = std::gcd(unit, time);
      }
  }
  unit = std::max({unit, longest / kMostUnits, Ticks(1)});
  for (BucketCosts &bucket : buckets)
    for (ActionCosts &stage : bucket.stages) {
      for (Ticks *time :
           {&stage.forward, &stage.input, &stage.weight, &stage.backward})
        *time = std::max<Ticks>(1, toUnits(*time, unit));
      stage.overlapped.reset();
    }
  PipelineCosts costs;
  costs.stages = buckets.front().stages;
  if (!model.buckets.empty())
    costs.buckets = std::move(buckets);
  costs.bucketOf = model.bucketOf;
  // As many of them as there are actions still add up.
  costs.transfer = std::min(toUnits(transfer, unit), int64_t(1) << 40);
  return costs;
}

/// Smaller is better.
static auto getRank(const Combination &found) {
  bool exists = found.problem.empty();
  double cost = !exists      ? 0
                : found.fits ? found.getPerMicrobatch()
                             : static_cast<double>(found.peakBytes);
  return std::make_tuple(!exists, !found.fits, cost, found.peakBytes,
                         found.microbatches, llvm::StringRef(found.schedule));
}

/// The order that is found for these stages, or one of those that were compared
/// before, if that is shorter: the search takes links as free and memory by
/// microbatches, which the simulation does not.
static llvm::Error measureInto(Combination &found, const PlanShape &shape,
                               const PipelineModel &model,
                               const ComparisonRequest &request,
                               llvm::ArrayRef<Combination> others) {
  std::vector<int64_t> limits = findMemoryLimits(shape, model, request.memory);
  PipelineCosts costs = makeCosts(model, request.stages);
  std::vector<bool> splits(request.stages, true);
  while (true) {
    llvm::Expected<SearchedPlan> made =
        searchPlan(shape, costs, splits, limits);
    if (!made) {
      found.problem = llvm::toString(made.takeError());
      found.fits = false;
      return llvm::Error::success();
    }
    if (llvm::Error error = simulateInto(found, made->plan, model, request))
      return error;
    bool isLeast = llvm::all_of(
        limits, [&](int64_t most) { return most == shape.chunks; });
    if (found.fits || isLeast)
      break;
    // Temporaries, or values on their way, need some of the memory limit.
    for (int64_t &most : limits)
      most = std::max(shape.chunks, most - std::max<int64_t>(1, most / 8));
  }
  for (const Combination &other : others) {
    if (other.microbatches != found.microbatches ||
        getRank(other) >= getRank(found))
      continue;
    std::string name = std::move(found.schedule);
    found = other;
    found.schedule = std::move(name);
  }
  return llvm::Error::success();
}

static llvm::Error compareInto(Combination &found, const Schedule &schedule,
                               const PipelineModel &model,
                               const ComparisonRequest &request,
                               llvm::ArrayRef<Combination> others) {
  auto refuse = [&](llvm::Error error) {
    found.problem = llvm::toString(std::move(error));
    found.fits = false;
    return llvm::Error::success();
  };
  llvm::Expected<PlanShape> shape = getShape(request, found.microbatches);
  if (!shape)
    return refuse(shape.takeError());
  if (llvm::Error error = schedule.checkShape(*shape))
    return refuse(std::move(error));
  if (schedule.isSearched)
    return measureInto(found, *shape, model, request, others);
  llvm::Expected<Plan> plan = schedule.makePlan(*shape);
  if (!plan)
    return refuse(plan.takeError());
  if (!plan->isTraining(request.stages, found.microbatches))
    return refuse(llvm::createStringError(
        "does not take each microbatch forward and back through all stages"));
  return simulateInto(found, *plan, model, request);
}

llvm::Expected<std::vector<Combination>>
meshwright::compare(const PipelineModel &model,
                    const ComparisonRequest &request) {
  std::vector<const Schedule *> schedules;
  for (const std::string &name : request.schedules) {
    const Schedule *schedule = findSchedule(name);
    if (!schedule)
      return llvm::createStringError("unknown pipeline schedule '" + name +
                                     "', " + listSchedules(name));
    schedules.push_back(schedule);
  }
  // The search starts from the others.
  llvm::stable_sort(schedules, [](const Schedule *a, const Schedule *b) {
    return a->isSearched < b->isSearched;
  });
  std::vector<Combination> combinations;
  for (const Schedule *schedule : schedules)
    for (int64_t microbatches : request.microbatches) {
      Combination found;
      found.schedule = schedule->name.str();
      found.microbatches = microbatches;
      if (llvm::Error error =
              compareInto(found, *schedule, model, request, combinations))
        return error;
      combinations.push_back(std::move(found));
    }
  llvm::sort(combinations, [](const Combination &a, const Combination &b) {
    return getRank(a) < getRank(b);
  });
  return combinations;
}

std::string meshwright::explainMemory(llvm::ArrayRef<Combination> combinations,
                                      int64_t memory) {
  if (combinations.empty() || combinations.front().fits)
    return "";
  const Combination &least = combinations.front();
  if (!least.problem.empty())
    return "none of these schedules exists for this pipeline: " + least.problem;
  return llvm::formatv("nothing fits into {0} on each device; {1} with {2} "
                       "microbatches needs least: {3} ({4} bytes) on mesh {5}",
                       toScaled(static_cast<double>(memory), "B"),
                       least.schedule, least.microbatches,
                       toScaled(static_cast<double>(least.peakBytes), "B"),
                       least.peakBytes, least.peakMesh);
}

void meshwright::printTable(llvm::ArrayRef<Combination> combinations,
                            llvm::raw_ostream &os) {
  std::vector<TextRow> rows = {{"schedule", "microbatches", "step",
                                "a microbatch", "bubble", "peak memory",
                                "fits"}};
  for (const Combination &found : combinations)
    if (found.problem.empty())
      rows.push_back({found.schedule, std::to_string(found.microbatches),
                      toDuration(found.makespan),
                      toDuration(static_cast<Ticks>(found.getPerMicrobatch())),
                      llvm::formatv("{0:P1}", found.bubble).str(),
                      toScaled(static_cast<double>(found.peakBytes), "B"),
                      found.fits ? "yes" : "no"});
  if (rows.size() > 1)
    printRows(rows, os);
  for (const Combination &found : combinations)
    if (!found.problem.empty())
      os << found.schedule << " with " << found.microbatches
         << " microbatches: " << found.problem << "\n";
}

void meshwright::writeJson(llvm::ArrayRef<Combination> combinations,
                           llvm::raw_ostream &os) {
  llvm::json::OStream json(os, 1);
  json.object([&] {
    json.attribute("version", 1);
    json.attributeArray("combinations", [&] {
      for (const Combination &found : combinations)
        json.object([&] {
          json.attribute("schedule", found.schedule);
          json.attribute("microbatches", found.microbatches);
          if (!found.problem.empty()) {
            json.attribute("problem", toUtf8(found.problem));
            return;
          }
          json.attributeBegin("makespan_s");
          json.rawValue(toSeconds(found.makespan));
          json.attributeEnd();
          json.attributeBegin("bubble");
          json.rawValue(llvm::formatv("{0:F6}", found.bubble).str());
          json.attributeEnd();
          json.attribute("peak_bytes", found.peakBytes);
          json.attribute("peak_mesh", toUtf8(found.peakMesh));
          json.attribute("fits", found.fits);
        });
    });
  });
  os << "\n";
}
