//===- Problem.cpp - What a schedule is made for --------------------------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

#include "meshwright/Schedule/Search/Problem.h"
#include "llvm/ADT/STLExtras.h"
#include <algorithm>

using namespace meshwright;

int64_t PipelineProblem::countActions() const {
  int64_t perMicrobatch = 0;
  for (bool split : splits)
    perMicrobatch += split ? 3 : 2;
  return perMicrobatch * microbatches;
}

void PipelineProblem::place(const PlanShape &shape, Placement kind) {
  microbatches = shape.microbatches;
  placement.clear();
  for (int64_t stage = 0; stage < shape.meshes * shape.chunks; ++stage)
    placement.push_back(placeStage(kind, shape.meshes, stage));
}

void PipelineProblem::joinEqualBuckets() {
  std::vector<BucketCosts> different;
  std::vector<size_t> numbers;
  for (BucketCosts &bucket : costs.buckets) {
    auto same = llvm::find_if(different, [&](const BucketCosts &other) {
      return other.stages == bucket.stages && other.usual == bucket.usual;
    });
    numbers.push_back(same - different.begin());
    if (same == different.end())
      different.push_back(std::move(bucket));
  }
  for (size_t &bucket : costs.bucketOf)
    bucket = numbers[bucket];
  costs.buckets = std::move(different);
  if (costs.buckets.size() != 1)
    return;
  costs.usual = costs.buckets.front().usual;
  costs.stages = std::move(costs.buckets.front().stages);
  costs.buckets.clear();
  costs.bucketOf.clear();
}

std::vector<std::vector<int64_t>> PipelineProblem::listBuckets() const {
  std::vector<std::vector<int64_t>> members(
      std::max<size_t>(1, costs.buckets.size()));
  for (int64_t microbatch = 0; microbatch < microbatches; ++microbatch)
    members[costs.buckets.empty() ? 0 : costs.bucketOf[microbatch]].push_back(
        microbatch);
  return members;
}

/// The same, with microbatches that are alike.
static PipelineProblem makeAlike(const PipelineProblem &problem,
                                 int64_t microbatches, BucketCosts costs) {
  PipelineProblem alike = problem;
  alike.microbatches = microbatches;
  alike.costs.usual = costs.usual;
  alike.costs.stages = std::move(costs.stages);
  alike.costs.buckets.clear();
  alike.costs.bucketOf.clear();
  return alike;
}

PipelineProblem PipelineProblem::takeBucket(size_t bucket) const {
  return makeAlike(*this, llvm::count(costs.bucketOf, bucket),
                   costs.buckets[bucket]);
}

PipelineProblem PipelineProblem::takeShortest() const {
  BucketCosts least;
  for (int64_t stage = 0; stage < getNumStages(); ++stage) {
    ActionCosts &cost =
        least.stages.emplace_back(costs.buckets.front().get(stage));
    for (const BucketCosts &bucket : costs.buckets) {
      const ActionCosts &other = bucket.get(stage);
      cost.forward = std::min(cost.forward, other.forward);
      cost.input = std::min(cost.input, other.input);
      cost.weight = std::min(cost.weight, other.weight);
      cost.backward = std::min(cost.backward, other.backward);
    }
  }
  return makeAlike(*this, microbatches, std::move(least));
}

llvm::Error PipelineProblem::place(const StageGraph &given) {
  graph = given;
  placement.clear();
  for (const Tower &tower : graph.towers) {
    const Schedule &schedule = *findSchedule(tower.schedule);
    auto places = schedule.placeStages(
        static_cast<int64_t>(tower.meshes.size()), tower.count);
    if (!places)
      return llvm::createStringError("tower " + tower.name + ": " +
                                     llvm::toString(places.takeError()));
    for (int64_t place : *places)
      placement.push_back(tower.meshes[place]);
  }
  return llvm::Error::success();
}

bool meshwright::fitsMemory(const PipelineProblem &problem, const Plan &plan) {
  return llvm::all_of(llvm::zip_equal(plan.meshes, problem.mostLive),
                      [](const auto &pair) {
                        auto [list, most] = pair;
                        return countPeakLive(list).untilWeight <= most;
                      });
}
