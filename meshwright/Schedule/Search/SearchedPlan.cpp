//===- SearchedPlan.cpp - The schedule for one's own stages ---------------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// The builtin schedules are tried first, since what they reach bounds the
// search: an order that cannot beat the best so far is dropped at once.
//
//===----------------------------------------------------------------------===//

#include "meshwright/Schedule/Search/SearchedPlan.h"
#include "meshwright/Schedule/Search/BeamSearch.h"
#include "meshwright/Schedule/Search/LowerBound.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/MathExtras.h"
#include <numeric>

using namespace meshwright;

/// Orders that are built side by side, at most: more gain next to nothing.
static constexpr int64_t kWidest = 256;
/// Steps of all orders together, each about a tenth of a microsecond per stage.
static constexpr int64_t kMostWork = int64_t(1) << 28;
/// Actions times stages: what one order alone costs. At this many it takes some
/// seconds, and the builtin schedules that are tried first as much.
static constexpr int64_t kLargestSearch = int64_t(1) << 29;
/// Towers of which mixtures of schedules are tried.
static constexpr size_t kMostMixed = 3;
/// Stages whose backward is tried both ways, in all combinations.
static constexpr int64_t kMostFreeSplits = 3;
/// Actions of all plans together in which two microbatches change places.
static constexpr int64_t kMostExchanged = int64_t(1) << 23;

double SearchedPlan::getDistance() const {
  return lowerBound == 0 ? 0
                         : static_cast<double>(timeline.makespan) /
                                   static_cast<double>(lowerBound) -
                               1;
}

namespace {
class Search {
public:
  explicit Search(const PipelineProblem &problem);

  SearchedPlan run();

private:
  void tryBuiltin(const Schedule &schedule);
  /// Tries towers that all follow a schedule, and mixtures of a few.
  void tryTowers();
  void tryTowers(const std::vector<llvm::StringRef> &schedules);
  void tryPlan(llvm::Expected<Plan> plan, llvm::StringRef name);
  /// Tries a plan with the short microbatches first, and with the long ones.
  void trySorted(const Plan &plan);
  /// Lets long and short microbatches of the best plan change places while that
  /// makes it shorter.
  void exchangeMicrobatches();
  /// Takes a plan if it is the shortest so far.
  void take(Plan plan, llvm::StringRef builtin);
  /// Whether the search tried everything, the backwards being as they are.
  bool search(const PipelineProblem &variant, int64_t widest,
              int64_t mostWork = kMostWork);
  bool searchSplits();
  void searchWithLessRoom();
  bool isDone() const {
    return best.plan.meshes.size() > 0 &&
           best.timeline.makespan == best.lowerBound;
  }
  int64_t getLimit() const {
    return best.plan.meshes.empty() ? std::numeric_limits<int64_t>::max()
                                    : best.timeline.makespan;
  }

  const PipelineProblem &problem;
  int64_t chunks;
  SearchedPlan best;
  int64_t numExchanged = 0; ///< Actions of plans with microbatches exchanged.
};
} // namespace

/// With the cheaper way of each backward, and gradients as early as either way
/// has them: what no choice of splits can beat.
static int64_t findBoundOfAllSplits(PipelineProblem problem) {
  auto takeCheaper = [&](std::vector<ActionCosts> &stages,
                         const ActionCosts &usual) {
    stages.resize(problem.getNumStages(), usual);
    for (auto [stage, cost] : llvm::enumerate(stages)) {
      if (!problem.splits[stage])
        continue;
      int64_t least = std::min(cost.backward, cost.input + cost.weight);
      cost.input = std::min(cost.input, least);
      cost.weight = least - cost.input;
    }
  };
  takeCheaper(problem.costs.stages, problem.costs.usual);
  for (BucketCosts &bucket : problem.costs.buckets)
    takeCheaper(bucket.stages, bucket.usual);
  return findLowerBound(problem);
}

Search::Search(const PipelineProblem &problem)
    : problem(problem),
      // Of fewer stages than meshes, some of these hold nothing.
      chunks(std::max<int64_t>(1, problem.getNumStages() /
                                      problem.getNumMeshes())) {
  best.lowerBound = findBoundOfAllSplits(problem);
}

void Search::take(Plan plan, llvm::StringRef builtin) {
  plan.graph = problem.graph;
  llvm::Expected<Timeline> timeline = simulatePlan(plan, problem.costs);
  if (!timeline) {
    // A builtin order with halves put together may wait for itself.
    llvm::consumeError(timeline.takeError());
    return;
  }
  if (timeline->makespan >= getLimit())
    return;
  best.plan = std::move(plan);
  best.timeline = std::move(*timeline);
  best.builtin = builtin;
}

/// Puts the halves of backwards together that must not be split.
static void joinHalves(Plan &plan, const std::vector<bool> &splits) {
  for (ActionList &list : plan.meshes) {
    llvm::erase_if(list, [&](const Action &action) {
      return action.kind == ActionKind::Weight && !splits[action.stage];
    });
    for (Action &action : list)
      if (action.kind == ActionKind::Input && !splits[action.stage])
        action.kind = ActionKind::Backward;
  }
}

static bool hasPlacement(const Plan &plan,
                         const std::vector<int64_t> &placement) {
  for (auto [mesh, list] : llvm::enumerate(plan.meshes))
    for (const Action &action : list)
      if (action.stage >= static_cast<int64_t>(placement.size()) ||
          placement[action.stage] != static_cast<int64_t>(mesh))
        return false;
  return true;
}

void Search::tryBuiltin(const Schedule &schedule) {
  if (schedule.takesTowers)
    return;
  tryPlan(
      schedule.makePlan({problem.getNumMeshes(), problem.microbatches, chunks}),
      schedule.name);
}

void Search::tryTowers(const std::vector<llvm::StringRef> &schedules) {
  PlanShape shape{problem.getNumMeshes(), problem.microbatches};
  shape.graph = problem.graph;
  for (auto [tower, schedule] : llvm::zip_equal(shape.graph.towers, schedules))
    tower.schedule = schedule.str();
  const Schedule &towers = *findSchedule("Towers");
  tryPlan(towers.makePlan(shape), towers.name);
}

void Search::tryTowers() {
  size_t count = problem.graph.towers.size();
  std::vector<llvm::StringRef> schedules;
  for (const Tower &tower : problem.graph.towers)
    schedules.push_back(tower.schedule);
  tryTowers(schedules);
  for (const Schedule *schedule : getSchedules())
    if (!schedule->takesTowers && !schedule->needsSumsApart)
      tryTowers(std::vector<llvm::StringRef>(count, schedule->name));
  if (count > kMostMixed)
    return;
  constexpr llvm::StringLiteral kMixed[] = {"GPipe", "1F1B", "ZeroBubbleH1"};
  size_t mixtures = 1;
  for (size_t tower = 0; tower < count; ++tower)
    mixtures *= std::size(kMixed);
  for (size_t mixture = 0; mixture < mixtures; ++mixture) {
    size_t rest = mixture;
    for (llvm::StringRef &schedule : schedules) {
      schedule = kMixed[rest % std::size(kMixed)];
      rest /= std::size(kMixed);
    }
    tryTowers(schedules);
  }
}

void Search::tryPlan(llvm::Expected<Plan> plan, llvm::StringRef name) {
  if (!plan) {
    // It does not exist for this shape.
    llvm::consumeError(plan.takeError());
    return;
  }
  if (!plan->isTraining(problem.getNumStages(), problem.microbatches) ||
      !hasPlacement(*plan, problem.placement))
    return;
  joinHalves(*plan, problem.splits);
  if (!fitsMemory(problem, *plan))
    return;
  if (!problem.costs.buckets.empty())
    trySorted(*plan);
  take(std::move(*plan), name);
}

/// The plan with other microbatches in the places of its own.
static Plan withMicrobatches(Plan plan, llvm::ArrayRef<int64_t> others) {
  for (ActionList &list : plan.meshes)
    for (Action &action : list)
      action.microbatch = others[action.microbatch];
  return plan;
}

void Search::trySorted(const Plan &plan) {
  std::vector<int64_t> order(problem.microbatches), work(problem.microbatches);
  for (auto [microbatch, place] : llvm::enumerate(order)) {
    place = microbatch;
    for (int64_t stage = 0; stage < problem.getNumStages(); ++stage) {
      const ActionCosts &cost = problem.costs.get(stage, place);
      work[place] += cost.forward + cost.backward;
    }
  }
  llvm::stable_sort(order,
                    [&](int64_t a, int64_t b) { return work[a] < work[b]; });
  take(withMicrobatches(plan, order), "");
  llvm::stable_sort(order,
                    [&](int64_t a, int64_t b) { return work[a] > work[b]; });
  take(withMicrobatches(plan, order), "");
}

void Search::exchangeMicrobatches() {
  if (problem.costs.buckets.empty() || best.plan.meshes.empty())
    return;
  const std::vector<size_t> &buckets = problem.costs.bucketOf;
  std::vector<int64_t> order(problem.microbatches);
  std::iota(order.begin(), order.end(), 0);
  for (bool changed = true; changed;) {
    changed = false;
    for (size_t first = 0; first < order.size(); ++first)
      for (size_t second = first + 1; second < order.size(); ++second) {
        if (buckets[first] == buckets[second])
          continue;
        if (isDone() || numExchanged >= kMostExchanged)
          return;
        int64_t before = getLimit();
        std::swap(order[first], order[second]);
        take(withMicrobatches(best.plan, order), "");
        std::swap(order[first], order[second]);
        numExchanged += problem.countActions();
        changed |= getLimit() < before;
      }
  }
}

bool Search::search(const PipelineProblem &variant, int64_t widest,
                    int64_t mostWork) {
  int64_t numBuckets = std::max<int64_t>(1, variant.costs.buckets.size());
  // As many lanes of stages, and choices of the next action.
  int64_t perOrder = variant.countActions() * numBuckets *
                     (variant.getNumStages() * numBuckets + 8);
  if (numBuckets > 1 && perOrder > mostWork)
    return false;
  widest = std::clamp<int64_t>(mostWork / perOrder, 1, widest);
  // A narrow search lowers the limit of a wide one.
  for (int64_t width = std::min<int64_t>(widest, 8);; width = widest) {
    BeamResult result = searchOrders(variant, width, getLimit());
    if (result.plan)
      take(std::move(*result.plan), "");
    if (result.complete || isDone() || width == widest)
      return result.complete;
  }
}

/// Tries backwards whole where that is cheaper than two halves: all
/// combinations of a few stages, or one stage after the other.
bool Search::searchSplits() {
  llvm::SmallVector<int64_t> unsure;
  for (int64_t stage = 0; stage < problem.getNumStages(); ++stage) {
    auto isCheaper = [&](const ActionCosts &cost) {
      return cost.backward < cost.input + cost.weight;
    };
    const std::vector<BucketCosts> &buckets = problem.costs.buckets;
    if (problem.splits[stage] &&
        (buckets.empty()
             ? isCheaper(problem.costs.get(stage))
             : llvm::any_of(buckets, [&](const BucketCosts &bucket) {
                 return isCheaper(bucket.get(stage));
               })))
      unsure.push_back(stage);
  }
  if (static_cast<int64_t>(unsure.size()) <= kMostFreeSplits) {
    bool complete = true;
    for (unsigned whole = 0; whole < 1u << unsure.size() && !isDone();
         ++whole) {
      PipelineProblem variant = problem;
      for (auto [index, stage] : llvm::enumerate(unsure))
        if (whole >> index & 1)
          variant.splits[stage] = false;
      complete &= search(variant, kWidest);
    }
    return complete;
  }
  PipelineProblem variant = problem;
  search(variant, kWidest);
  for (int64_t stage : unsure) {
    if (isDone())
      return false;
    int64_t before = getLimit();
    variant.splits[stage] = false;
    search(variant, kWidest / 8,
           kMostWork / static_cast<int64_t>(unsure.size()));
    variant.splits[stage] = getLimit() == before;
  }
  return false;
}

/// Where there is much memory limit, orders that rush forward look as good as others
/// for long. What is good with the memory limit of known schedules is good with more.
void Search::searchWithLessRoom() {
  for (int64_t limits : {1, 2}) {
    PipelineProblem variant = problem;
    for (auto [mesh, most] : llvm::enumerate(variant.mostLive))
      most = std::min<int64_t>(most, limits * problem.getNumMeshes() * chunks);
    if (variant.mostLive != problem.mostLive && !isDone())
      search(variant, kWidest);
  }
}

SearchedPlan Search::run() {
  if (problem.graph.isChain())
    for (const Schedule *schedule : getSchedules())
      tryBuiltin(*schedule);
  else
    tryTowers();
  exchangeMicrobatches();
  bool complete = !isDone() && searchSplits();
  if (!complete) {
    searchWithLessRoom();
    exchangeMicrobatches();
  }
  // With several stages on a mesh, the candidates of the search leave some
  // orders out.
  best.optimal = isDone() ||
                 (complete && problem.getNumStages() == problem.getNumMeshes());
  if (best.optimal)
    best.lowerBound = best.timeline.makespan;
  return std::move(best);
}

std::vector<int64_t> meshwright::getUsualLimits(const StageGraph &graph) {
  std::vector<int64_t> toEnd =
      StageLinks(graph, graph.countStages()).countToEnd();
  std::vector<int64_t> limits(graph.countMeshes());
  for (const Tower &tower : graph.towers)
    for (int64_t mesh : tower.meshes)
      limits[mesh] += toEnd[tower.first];
  return limits;
}

static llvm::Error checkProblem(const PipelineProblem &problem) {
  if (problem.hostTime && !problem.costs.buckets.empty())
    return llvm::createStringError(
        "activations go to hosts only where all microbatches take the same "
        "time; leave out --host or --scales");
  if (problem.microbatches < 1)
    return llvm::createStringError(llvm::formatv(
        "a searched schedule needs at least one microbatch, got {0}",
        problem.microbatches));
  std::vector<int64_t> needed(problem.getNumMeshes());
  for (int64_t mesh : problem.placement)
    ++needed[mesh];
  for (auto [mesh, least] : llvm::enumerate(needed))
    if (problem.mostLive[mesh] < least)
      return llvm::createStringError(
          llvm::formatv("no order fits: mesh {0} has {1} of the stages, so it "
                        "must hold at least {1} live microbatches, got {2}",
                        mesh, least, problem.mostLive[mesh]));
  int64_t count = 3;
  for (int64_t factor : {problem.getNumStages(), problem.microbatches})
    if (llvm::MulOverflow(count, factor, count) || count > kMostActions)
      return llvm::createStringError(llvm::formatv(
          "{0} stages and {1} microbatches may have more than {2} actions; "
          "take fewer microbatches",
          problem.getNumStages(), problem.microbatches, kMostActions));
  if (count > kLargestSearch / problem.getNumStages())
    return llvm::createStringError(llvm::formatv(
        "a searched schedule for {0} stages and {1} microbatches would take "
        "too long to find; take fewer, or a schedule by its name",
        problem.getNumStages(), problem.microbatches));
  return llvm::Error::success();
}

/// Searches for more and more live microbatches, and takes the shortest order whose rest
/// the hosts can hold.
static SearchedPlan searchWithHosts(const PipelineProblem &problem) {
  std::optional<SearchedPlan> best;
  auto take = [&](SearchedPlan made) {
    if (best && made.timeline.makespan >= best->timeline.makespan)
      return;
    made.hosts =
        findHostUse(problem, made.plan, *problem.hostTime, made.timeline);
    if (made.hosts)
      best = std::move(made);
  };
  int64_t all = problem.microbatches * problem.getNumStages();
  int64_t largest = std::min(all, *llvm::max_element(problem.mostLive));
  int64_t lowerBound = 0;
  // Half as many more each time; in the end there is memory for all.
  for (int64_t more = 0;; more += std::max<int64_t>(1, (largest + more) / 2)) {
    PipelineProblem variant = problem;
    for (int64_t &most : variant.mostLive)
      most = most >= all - more ? all : most + more;
    bool isLast = llvm::all_of(variant.mostLive,
                               [&](int64_t most) { return most == all; });
    SearchedPlan made = Search(variant).run();
    lowerBound = made.lowerBound;
    take(std::move(made));
    // Halves of a backward have their activations brought twice.
    variant.splits.assign(variant.splits.size(), false);
    take(Search(variant).run());
    if (isLast)
      break;
  }
  best->lowerBound = lowerBound;
  best->optimal = best->timeline.makespan == lowerBound;
  return std::move(*best);
}

llvm::Expected<SearchedPlan> meshwright::searchPlan(PipelineProblem problem) {
  problem.joinEqualBuckets();
  if (llvm::Error error = checkProblem(problem))
    return error;
  return problem.hostTime ? searchWithHosts(problem) : Search(problem).run();
}

/// The stages of the problem without some, and in the plan the numbers of all.
static llvm::Expected<SearchedPlan> searchWithout(const PipelineProblem &all,
                                                  llvm::ArrayRef<bool> empty) {
  PipelineProblem problem = all;
  problem.placement.clear();
  problem.splits.clear();
  std::vector<int64_t> numbers;
  for (int64_t stage = 0; stage < all.getNumStages(); ++stage) {
    if (!empty.empty() && empty[stage])
      continue;
    numbers.push_back(stage);
    problem.placement.push_back(all.placement[stage]);
    problem.splits.push_back(all.splits[stage]);
  }
  auto keep = [&](std::vector<ActionCosts> &stages, auto &&costs) {
    stages.clear();
    for (int64_t stage : numbers)
      stages.push_back(costs.get(stage));
  };
  keep(problem.costs.stages, all.costs);
  for (auto [kept, costs] :
       llvm::zip_equal(problem.costs.buckets, all.costs.buckets))
    keep(kept.stages, costs);
  llvm::Expected<SearchedPlan> made = searchPlan(std::move(problem));
  if (made)
    for (ActionList &list : made->plan.meshes)
      for (Action &action : list)
        action.stage = numbers[action.stage];
  return made;
}

llvm::Expected<SearchedPlan> meshwright::searchPlan(
    const PlanShape &shape, const PipelineCosts &costs,
    const std::vector<bool> &splits, const std::vector<int64_t> &mostLive,
    std::optional<int64_t> hostTime, llvm::ArrayRef<bool> empty) {
  PipelineProblem problem;
  problem.place(shape, Placement::Looped);
  problem.costs = costs;
  problem.splits = splits;
  problem.mostLive = mostLive;
  problem.hostTime = hostTime;
  llvm::Expected<SearchedPlan> looped = searchWithout(problem, empty);
  if (!looped || shape.chunks != 2 || shape.meshes == 1)
    return looped;
  problem.place(shape, Placement::Folded);
  llvm::Expected<SearchedPlan> folded = searchWithout(problem, empty);
  if (!folded)
    return folded;
  // The bound holds for the placement that it was found for.
  int64_t lowerBound = std::min(looped->lowerBound, folded->lowerBound);
  SearchedPlan &best =
      folded->timeline.makespan < looped->timeline.makespan ? *folded : *looped;
  best.lowerBound = lowerBound;
  best.optimal = best.timeline.makespan == lowerBound;
  return std::move(best);
}
