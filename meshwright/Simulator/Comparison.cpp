//===- Comparison.cpp - Which schedule, how many microbatches -------------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

#include "meshwright/Simulator/Comparison.h"
#include "meshwright/Schedule/Schedule.h"
#include "meshwright/Simulator/Simulation.h"
#include "meshwright/Simulator/Times.h"
#include "meshwright/Text/TextTable.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/JSON.h"

using namespace meshwright;

/// The plan of a schedule for such a pipeline.
static llvm::Expected<Plan> makePlan(const Schedule &schedule,
                                     const ComparisonRequest &request,
                                     int64_t microbatches) {
  int64_t chunks = request.stages / request.meshes;
  if (chunks * request.meshes != request.stages)
    return llvm::createStringError(
        llvm::formatv("{0} stages cannot be spread evenly over {1} meshes",
                      request.stages, request.meshes)
            .str());
  if (schedule.isMadeToMeasure)
    return llvm::createStringError(
        "is made to measure: meshwright schedule auto --times finds it");
  return schedule.makePlan({request.meshes, microbatches, chunks});
}

static llvm::Error simulateInto(Combination &found, const Schedule &schedule,
                                const PipelineModel &model,
                                const ComparisonRequest &request) {
  llvm::Expected<Plan> plan = makePlan(schedule, request, found.microbatches);
  if (!plan) {
    found.problem = llvm::toString(plan.takeError());
    found.fits = false;
    return llvm::Error::success();
  }
  Workload workload = makeWorkload(*plan, model);
  llvm::Expected<Simulation> simulation = simulate(workload);
  if (!simulation)
    return simulation.takeError();
  found.makespan = simulation->makespan;
  found.bubble = simulation->getBubble();
  for (auto [mesh, figures] : llvm::zip(workload.meshes, simulation->meshes))
    if (figures.peakBytes >= found.peakBytes) {
      found.peakBytes = figures.peakBytes;
      found.peakMesh = mesh.name;
    }
  found.fits = request.memory == 0 || found.peakBytes <= request.memory;
  return llvm::Error::success();
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

llvm::Expected<std::vector<Combination>>
meshwright::compare(const PipelineModel &model,
                    const ComparisonRequest &request) {
  std::vector<Combination> combinations;
  for (const std::string &name : request.schedules) {
    const Schedule *schedule = findSchedule(name);
    if (!schedule)
      return llvm::createStringError("unknown pipeline schedule '" + name +
                                     "', " + listSchedules(name));
    for (int64_t microbatches : request.microbatches) {
      Combination &found = combinations.emplace_back();
      found.schedule = schedule->name.str();
      found.microbatches = microbatches;
      if (llvm::Error error = simulateInto(found, *schedule, model, request))
        return error;
    }
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
            json.attribute("problem", found.problem);
            return;
          }
          json.attributeBegin("makespan_s");
          json.rawValue(toSeconds(found.makespan));
          json.attributeEnd();
          json.attributeBegin("bubble");
          json.rawValue(llvm::formatv("{0:F6}", found.bubble).str());
          json.attributeEnd();
          json.attribute("peak_bytes", found.peakBytes);
          json.attribute("peak_mesh", found.peakMesh);
          json.attribute("fits", found.fits);
        });
    });
  });
  os << "\n";
}
