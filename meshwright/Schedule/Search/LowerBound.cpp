//===- LowerBound.cpp - No schedule is shorter ----------------------------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

#include "meshwright/Schedule/Search/LowerBound.h"
#include "llvm/ADT/STLExtras.h"
#include <algorithm>
#include <queue>

using namespace meshwright;

namespace {
/// An action as one machine sees it.
struct Job {
  int64_t head;
  int64_t cost;
  int64_t tail;
};

/// The paths before and after each action. Kinds: 0 forward, 1 gradient of
/// the input or whole backward, 2 gradient of the weights.
class Paths {
public:
  explicit Paths(const PipelineProblem &problem);

  /// Makes paths longer until nothing changes. A pass over all actions follows
  /// every arc but those from the end of a microbatch to a later one, which
  /// lead from pass to pass.
  void findHeads();
  void findTails();
  std::vector<Job> listJobs(int64_t mesh) const;

private:
  size_t getIndex(int64_t stage, int kind, int64_t microbatch) const {
    return (microbatch * numStages + stage) * 3 + kind;
  }
  int64_t getCost(int64_t stage, int kind) const {
    return costs[stage * 3 + kind];
  }
  int getLastKind(int64_t stage) const { return problem.splits[stage] ? 2 : 1; }
  int64_t getEnd(int64_t stage, int kind, int64_t microbatch) const {
    return heads[getIndex(stage, kind, microbatch)] + getCost(stage, kind);
  }
  /// The time from the start of an action to the end of everything.
  int64_t getRest(int64_t stage, int kind, int64_t microbatch) const {
    return tails[getIndex(stage, kind, microbatch)] + getCost(stage, kind);
  }
  int64_t findHead(int64_t stage, int kind, int64_t microbatch) const;
  int64_t findTail(int64_t stage, int kind, int64_t microbatch) const;

  const PipelineProblem &problem;
  StageLinks links;
  int64_t numStages;
  std::vector<int64_t> costs, heads, tails;
};
} // namespace

Paths::Paths(const PipelineProblem &problem)
    : problem(problem), links(problem.getLinks()),
      numStages(problem.getNumStages()) {
  for (int64_t stage = 0; stage < numStages; ++stage) {
    costs.push_back(problem.costs.get(stage).forward);
    costs.push_back(problem.getGradientCost(stage));
    costs.push_back(problem.getWeightCost(stage));
  }
  heads.assign(numStages * problem.microbatches * 3, 0);
  tails = heads;
}

int64_t Paths::findHead(int64_t stage, int kind, int64_t microbatch) const {
  int64_t head = 0;
  auto follow = [&](int64_t time) { head = std::max(head, time); };
  if (microbatch > 0)
    follow(getEnd(stage, kind, microbatch - 1));
  if (kind > 0)
    follow(getEnd(stage, kind - 1, microbatch));
  if (kind == 0)
    for (int64_t from : links.before[stage])
      follow(getEnd(from, 0, microbatch) + problem.getHop(from, stage));
  if (kind == 1)
    for (int64_t from : links.after[stage])
      follow(getEnd(from, 1, microbatch) + problem.getHop(from, stage));
  if (int64_t limit = problem.mostLive[problem.placement[stage]];
      kind == 0 && microbatch >= limit)
    follow(getEnd(stage, getLastKind(stage), microbatch - limit));
  return head;
}

int64_t Paths::findTail(int64_t stage, int kind, int64_t microbatch) const {
  int64_t tail = 0;
  auto follow = [&](int64_t time) { tail = std::max(tail, time); };
  if (microbatch + 1 < problem.microbatches)
    follow(getRest(stage, kind, microbatch + 1));
  if (kind < 2)
    follow(getRest(stage, kind + 1, microbatch));
  if (kind == 0)
    for (int64_t to : links.after[stage])
      follow(getRest(to, 0, microbatch) + problem.getHop(stage, to));
  if (kind == 1)
    for (int64_t to : links.before[stage])
      follow(getRest(to, 1, microbatch) + problem.getHop(stage, to));
  int64_t limit = problem.mostLive[problem.placement[stage]];
  if (kind == getLastKind(stage) && limit < problem.microbatches - microbatch)
    follow(getRest(stage, 0, microbatch + limit));
  return tail;
}

void Paths::findHeads() {
  // Every arc leads to the same or a later microbatch and, within one, from
  // forwards down the stages to gradients up the stages.
  for (int64_t microbatch = 0; microbatch < problem.microbatches;
       ++microbatch) {
    for (int64_t stage = 0; stage < numStages; ++stage)
      heads[getIndex(stage, 0, microbatch)] = findHead(stage, 0, microbatch);
    for (int64_t stage = numStages - 1; stage >= 0; --stage)
      for (int kind : {1, 2})
        heads[getIndex(stage, kind, microbatch)] =
            findHead(stage, kind, microbatch);
  }
}

void Paths::findTails() {
  for (int64_t microbatch = problem.microbatches - 1; microbatch >= 0;
       --microbatch) {
    for (int64_t stage = 0; stage < numStages; ++stage)
      for (int kind : {2, 1})
        tails[getIndex(stage, kind, microbatch)] =
            findTail(stage, kind, microbatch);
    for (int64_t stage = numStages - 1; stage >= 0; --stage)
      tails[getIndex(stage, 0, microbatch)] = findTail(stage, 0, microbatch);
  }
}

std::vector<Job> Paths::listJobs(int64_t mesh) const {
  std::vector<Job> jobs;
  for (int64_t microbatch = 0; microbatch < problem.microbatches; ++microbatch)
    for (int64_t stage = 0; stage < numStages; ++stage)
      if (problem.placement[stage] == mesh)
        for (int kind = 0; kind <= getLastKind(stage); ++kind) {
          size_t index = getIndex(stage, kind, microbatch);
          jobs.push_back({heads[index], getCost(stage, kind), tails[index]});
        }
  return jobs;
}

/// The least time of one machine: it always works at the ready job with the
/// longest tail, and drops it for one with a longer tail.
static int64_t findOneMachineBound(std::vector<Job> jobs) {
  llvm::sort(jobs, [](const Job &a, const Job &b) { return a.head < b.head; });
  auto hasShorterTail = [&](size_t a, size_t b) {
    return jobs[a].tail < jobs[b].tail;
  };
  std::priority_queue<size_t, std::vector<size_t>, decltype(hasShorterTail)>
      ready(hasShorterTail);
  int64_t time = 0, bound = 0;
  size_t next = 0;
  while (next < jobs.size() || !ready.empty()) {
    if (ready.empty())
      time = std::max(time, jobs[next].head);
    for (; next < jobs.size() && jobs[next].head <= time; ++next)
      ready.push(next);
    Job &job = jobs[ready.top()];
    int64_t until = time + job.cost;
    if (next < jobs.size())
      until = std::min(until, jobs[next].head);
    job.cost -= until - time;
    time = until;
    if (job.cost > 0)
      continue;
    bound = std::max(bound, time + job.tail);
    ready.pop();
  }
  return bound;
}

/// Of some problems side by side on the same meshes.
static int64_t findBound(llvm::ArrayRef<PipelineProblem> problems) {
  std::vector<std::vector<Job>> jobs(problems.front().getNumMeshes());
  for (const PipelineProblem &problem : problems) {
    Paths paths(problem);
    paths.findHeads();
    paths.findTails();
    for (auto [mesh, ofMesh] : llvm::enumerate(jobs))
      llvm::append_range(ofMesh, paths.listJobs(mesh));
  }
  int64_t bound = 0;
  for (std::vector<Job> &ofMesh : jobs)
    bound = std::max(bound, findOneMachineBound(std::move(ofMesh)));
  return bound;
}

int64_t meshwright::findLowerBound(const PipelineProblem &problem) {
  if (problem.costs.buckets.empty())
    return findBound(problem);
  std::vector<PipelineProblem> buckets;
  for (size_t bucket = 0; bucket < problem.costs.buckets.size(); ++bucket)
    buckets.push_back(problem.takeBucket(bucket));
  return std::max(findBound(buckets), findBound(problem.takeShortest()));
}
