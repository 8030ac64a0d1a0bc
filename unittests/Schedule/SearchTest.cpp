//===- SearchTest.cpp - Searched schedules --------------------------------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

#include "ScheduleTest.h"
#include "meshwright/Schedule/Search/BeamSearch.h"
#include "meshwright/Schedule/Search/LowerBound.h"
#include "meshwright/Schedule/Search/StageTimes.h"
#include "llvm/ADT/STLExtras.h"
#include "gtest/gtest.h"
#include <map>
#include <random>

using namespace meshwright;

namespace {
/// A pipeline with one stage on each mesh.
PipelineProblem makeProblem(int64_t meshes, int64_t microbatches,
                            int64_t limits = kAnyLive) {
  PipelineProblem problem;
  problem.microbatches = microbatches;
  for (int64_t mesh = 0; mesh < meshes; ++mesh)
    problem.placement.push_back(mesh);
  problem.splits.assign(meshes, true);
  problem.mostLive.assign(meshes, limits);
  return problem;
}

PipelineProblem makeRandomProblem(std::mt19937 &random, int64_t mostMeshes,
                                  int64_t mostMicrobatches) {
  auto draw = [&](int64_t from, int64_t to) {
    return from + static_cast<int64_t>(random() % (to - from + 1));
  };
  PipelineProblem problem =
      makeProblem(draw(2, mostMeshes), draw(2, mostMicrobatches));
  problem.costs.transfer = draw(0, 3);
  for (int64_t mesh = 0; mesh < problem.getNumMeshes(); ++mesh) {
    ActionCosts costs;
    costs.forward = draw(1, 9);
    costs.input = draw(1, 9);
    costs.weight = draw(1, 9);
    costs.backward = costs.input + costs.weight - draw(0, 1);
    problem.costs.stages.push_back(costs);
    problem.mostLive[mesh] = draw(1, 2 * mostMeshes);
  }
  return problem;
}

/// The shortest time of all orders, by trying them.
class ExhaustiveSearch {
public:
  explicit ExhaustiveSearch(const PipelineProblem &problem)
      : problem(problem), done(problem.getNumStages()),
        free(problem.getNumMeshes()) {}

  int64_t run() {
    visit();
    return best;
  }

private:
  /// Ends of the forwards, gradients and weight gradients of a stage.
  using Ends = std::array<std::vector<int64_t>, 3>;

  void tryAction(int64_t stage, int kind, int64_t ready, int64_t cost) {
    int64_t before = free[stage];
    free[stage] = std::max(before, ready) + cost;
    done[stage][kind].push_back(free[stage]);
    if (free[stage] < best)
      visit();
    done[stage][kind].pop_back();
    free[stage] = before;
  }
  void visit() {
    bool isEnd = true;
    for (int64_t stage = 0; stage < problem.getNumStages(); ++stage) {
      Ends &ends = done[stage];
      size_t f = ends[0].size(), g = ends[1].size(), w = ends[2].size();
      size_t finished = problem.splits[stage] ? w : g;
      auto last = static_cast<size_t>(problem.microbatches);
      isEnd &= finished == last;
      const ActionCosts &costs = problem.costs.get(stage);
      bool hasInput = stage == 0 || done[stage - 1][0].size() > f;
      if (f < last && hasInput &&
          static_cast<int64_t>(f - finished) < problem.mostLive[stage])
        tryAction(stage, 0,
                  stage == 0 ? 0
                             : done[stage - 1][0][f] + problem.costs.transfer,
                  costs.forward);
      bool isLast = stage + 1 == problem.getNumStages();
      if (g < f && (isLast || done[stage + 1][1].size() > g))
        tryAction(stage, 1,
                  isLast ? 0 : done[stage + 1][1][g] + problem.costs.transfer,
                  problem.splits[stage] ? costs.input : costs.backward);
      if (problem.splits[stage] && w < g)
        tryAction(stage, 2, 0, costs.weight);
    }
    if (isEnd)
      best = *llvm::max_element(free);
  }

  const PipelineProblem &problem;
  std::vector<Ends> done;
  std::vector<int64_t> free;
  int64_t best = std::numeric_limits<int64_t>::max();
};

/// The same where microbatches differ and may come in any order, in each stage another
/// one.
class AnyOrder {
public:
  explicit AnyOrder(const PipelineProblem &problem)
      : problem(problem), free(problem.getNumMeshes()),
        ends(problem.getNumStages(),
             std::vector<std::vector<int64_t>>(problem.microbatches)) {}

  int64_t run() {
    visit();
    return best;
  }

private:
  size_t countSteps(int64_t stage) const {
    return problem.splits[stage] ? 3 : 2;
  }
  int64_t countLive(int64_t stage) const {
    return llvm::count_if(ends[stage], [&](const std::vector<int64_t> &done) {
      return !done.empty() && done.size() < countSteps(stage);
    });
  }
  int64_t getCost(int64_t stage, int64_t microbatch, size_t step) const {
    return step == 0   ? problem.costs.get(stage, microbatch).forward
           : step == 1 ? problem.getGradientCost(stage, microbatch)
                       : problem.getWeightCost(stage, microbatch);
  }
  void tryNext(int64_t stage, int64_t microbatch) {
    std::vector<int64_t> &done = ends[stage][microbatch];
    size_t step = done.size();
    int64_t from = step == 0 ? stage - 1 : stage + 1;
    int64_t ready = step == 0 ? 0 : done.back();
    if (step < 2 && from >= 0 && from < problem.getNumStages()) {
      if (ends[from][microbatch].size() <= step)
        return;
      ready = std::max(ready,
                       ends[from][microbatch][step] + problem.costs.transfer);
    }
    if (step == 0 && countLive(stage) >= problem.mostLive[stage])
      return;
    int64_t before = free[stage];
    free[stage] = std::max(before, ready) + getCost(stage, microbatch, step);
    done.push_back(free[stage]);
    if (free[stage] < best)
      visit();
    done.pop_back();
    free[stage] = before;
  }
  void visit() {
    bool isEnd = true;
    for (int64_t stage = 0; stage < problem.getNumStages(); ++stage)
      for (int64_t microbatch = 0; microbatch < problem.microbatches;
           ++microbatch)
        if (ends[stage][microbatch].size() < countSteps(stage)) {
          isEnd = false;
          tryNext(stage, microbatch);
        }
    if (isEnd)
      best = *llvm::max_element(free);
  }

  const PipelineProblem &problem;
  std::vector<int64_t> free;
  /// Of what has been done, by stage and microbatch.
  std::vector<std::vector<std::vector<int64_t>>> ends;
  int64_t best = std::numeric_limits<int64_t>::max();
};

/// No builtin schedule with a place for each stage that fits is shorter.
void expectBeatsBuiltins(const PipelineProblem &problem,
                         const SearchedPlan &made, int64_t chunks) {
  for (const Schedule *schedule : getSchedules()) {
    llvm::Expected<Plan> plan = schedule->makePlan(
        {problem.getNumMeshes(), problem.microbatches, chunks});
    if (!plan) {
      llvm::consumeError(plan.takeError());
      continue;
    }
    bool isWhole =
        plan->countActions() >=
        static_cast<size_t>(2 * problem.getNumStages() * problem.microbatches);
    if (isWhole && fitsMemory(problem, *plan) && schedule->name != "DualPipe")
      EXPECT_LE(made.timeline.makespan,
                llvm::cantFail(simulatePlan(*plan, problem.costs)).makespan)
          << schedule->name.str();
  }
}

std::string getStageTimesError(llvm::StringRef text) {
  llvm::Expected<StageTimes> times = parseStageTimes(text);
  return times ? "no error" : llvm::toString(times.takeError());
}
} // namespace

TEST(SearchTest, FillsThePipelineWithTheMemoryOf1F1B) {
  SearchedPlan made = llvm::cantFail(searchPlan(makeProblem(4, 8, 4)));
  EXPECT_EQ(made.timeline.makespan, 27);
  EXPECT_TRUE(made.optimal);
}

TEST(SearchTest, IsTheShortestOfAllOrders) {
  std::mt19937 random(1);
  for (unsigned trial = 0; trial < 30; ++trial) {
    PipelineProblem problem = makeRandomProblem(random, 2, 2);
    int64_t shortest = std::numeric_limits<int64_t>::max();
    // Whole or in halves, whatever is best for each stage.
    for (unsigned whole = 0; whole < 4; ++whole) {
      PipelineProblem variant = problem;
      variant.splits = {(whole & 1) == 0, (whole & 2) == 0};
      shortest = std::min(shortest, ExhaustiveSearch(variant).run());
    }
    SearchedPlan made = llvm::cantFail(searchPlan(problem));
    EXPECT_EQ(made.timeline.makespan, shortest) << trial;
    EXPECT_TRUE(made.optimal) << trial;
    EXPECT_LE(made.lowerBound, shortest) << trial;
  }
}

TEST(SearchTest, ProvesSmallPipelines) {
  std::mt19937 random(2);
  for (unsigned trial = 0; trial < 60; ++trial) {
    PipelineProblem problem = makeRandomProblem(random, 3, 4);
    SearchedPlan made = llvm::cantFail(searchPlan(problem));
    EXPECT_TRUE(made.optimal) << trial;
    expectRuns(problem, made);
  }
}

TEST(SearchTest, OrdersLongAndShortMicrobatches) {
  // Long ones first leave the later meshes idle while the pipeline fills.
  for (std::vector<int64_t> scales :
       {std::vector<int64_t>{4, 4, 1, 1}, {1, 4, 1, 4}, {1, 1, 4, 4}}) {
    PipelineProblem problem = makeProblem(4, 4, 4);
    problem.costs.scaleMicrobatches(scales);
    SearchedPlan made = llvm::cantFail(searchPlan(problem));
    EXPECT_EQ(made.timeline.makespan, 46);
    EXPECT_TRUE(made.optimal);
    expectRuns(problem, made);
  }
}

TEST(SearchTest, IsTheShortestOfAllOrdersOfDifferentMicrobatches) {
  std::mt19937 random(6);
  for (unsigned trial = 0; trial < 24; ++trial) {
    bool isSplit = trial % 2 == 0;
    PipelineProblem problem = makeRandomProblem(random, 2, 2);
    problem.microbatches = isSplit ? 2 : 3;
    problem.splits.assign(2, isSplit);
    for (ActionCosts &costs : problem.costs.stages)
      costs.backward = costs.input + costs.weight;
    std::vector<int64_t> scales(problem.microbatches);
    for (int64_t &scale : scales)
      scale = 1 + random() % 4;
    problem.costs.scaleMicrobatches(scales);
    int64_t shortest = AnyOrder(problem).run();
    SearchedPlan made = llvm::cantFail(searchPlan(problem));
    EXPECT_EQ(made.timeline.makespan, shortest) << trial;
    EXPECT_TRUE(made.optimal) << trial;
    EXPECT_LE(findLowerBound(problem), shortest) << trial;
    expectRuns(problem, made);
  }
}

/// Expects of the orders found for some problems that none of a builtin is shorter.
/// Returns how far they are from their lower bounds on average.
static double
measureDistance(unsigned trials,
                llvm::function_ref<PipelineProblem(unsigned trial)> make) {
  double distance = 0;
  for (unsigned trial = 0; trial < trials; ++trial) {
    PipelineProblem problem = make(trial);
    SearchedPlan made = llvm::cantFail(searchPlan(problem));
    distance += made.getDistance() / trials;
    expectRuns(problem, made);
    expectBeatsBuiltins(problem, made, 1);
  }
  return distance;
}

TEST(SearchTest, DifferentMicrobatchesAreNeverLaterThanInFixedOrders) {
  std::mt19937 random(7);
  double distance = measureDistance(24, [&](unsigned trial) {
    PipelineProblem problem = makeRandomProblem(random, 6, 16);
    std::vector<int64_t> scales(problem.microbatches);
    // Of a few lengths, or each of its own.
    int64_t numScales = trial % 3 == 0 ? 16 : 3;
    for (int64_t &scale : scales)
      scale = 1 + random() % numScales;
    problem.costs.scaleMicrobatches(scales);
    return problem;
  });
  EXPECT_LT(distance, 0.15);
}

TEST(SearchTest, EquallyLongMicrobatchesAreAlike) {
  PipelineProblem problem = makeProblem(4, 8, 4);
  problem.costs.stages = {
      {2, 2, 1, 3}, {3, 3, 3, 6}, {3, 4, 3, 7}, {5, 5, 4, 9}};
  SearchedPlan plain = llvm::cantFail(searchPlan(problem));
  problem.costs.scaleMicrobatches(std::vector<int64_t>(8, 1));
  SearchedPlan scaled = llvm::cantFail(searchPlan(problem));
  EXPECT_EQ(toCsv(scaled.plan), toCsv(plain.plan));
  EXPECT_EQ(scaled.builtin, plain.builtin);
  EXPECT_EQ(scaled.lowerBound, plain.lowerBound);
}

TEST(SearchTest, HostsTakeMicrobatchesThatAreAlike) {
  PipelineProblem problem = makeProblem(2, 2, 2);
  problem.costs.scaleMicrobatches({1, 2});
  problem.hostTime = 1;
  llvm::Expected<SearchedPlan> made = searchPlan(problem);
  ASSERT_FALSE(static_cast<bool>(made));
  EXPECT_EQ(llvm::toString(made.takeError()),
            "activations go to hosts only where all microbatches take the same "
            "time; leave out --host or --scales");
}

TEST(SearchTest, EmptyStagesHaveNumbersAndNoActions) {
  PlanShape shape{2, 4, 2};
  SearchedPlan made =
      llvm::cantFail(searchPlan(shape, {}, std::vector<bool>(4, true), {4, 4},
                                std::nullopt, {false, false, true, false}));
  for (const ActionList &list : made.plan.meshes)
    for (const Action &action : list)
      EXPECT_NE(action.stage, 2);
  EXPECT_EQ(made.plan.countActions(), 3u * 3 * 4);
  EXPECT_EQ(llvm::cantFail(simulatePlan(made.plan)).makespan,
            made.timeline.makespan);
}

TEST(SearchTest, StaysCloseToTheLowerBound) {
  std::mt19937 random(3);
  EXPECT_LT(measureDistance(
                40, [&](unsigned) { return makeRandomProblem(random, 8, 32); }),
            0.03);
}

TEST(SearchTest, IsNeverLongerThanABuiltinWithItsMemory) {
  // Many schedules have the memory of another, for which the same order is found.
  std::map<std::tuple<int64_t, int64_t, int64_t, std::vector<int64_t>>,
           SearchedPlan>
      found;
  for (int64_t meshes : {2, 4, 8})
    for (int64_t microbatches : {4, 8, 16})
      for (const Schedule *schedule : getSchedules()) {
        PlanShape shape{meshes, microbatches, schedule->usualChunks};
        llvm::Expected<Plan> plan = schedule->makePlan(shape);
        if (!plan || schedule->isSearched) {
          llvm::consumeError(plan.takeError());
          continue;
        }
        // Others do less than a chain of stages.
        if (!plan->isTraining(meshes * shape.chunks, microbatches))
          continue;
        std::vector<int64_t> limits;
        for (const ActionList &list : plan->meshes)
          limits.push_back(countPeakLive(list).untilWeight);
        auto [entry, isNew] =
            found.try_emplace({meshes, microbatches, shape.chunks, limits});
        SearchedPlan &made = entry->second;
        if (isNew)
          made = llvm::cantFail(searchPlan(
              shape, {}, std::vector<bool>(meshes * shape.chunks, true),
              limits));
        EXPECT_LE(made.timeline.makespan,
                  llvm::cantFail(simulatePlan(*plan)).makespan)
            << schedule->name.str() << " " << meshes << " " << microbatches;
        for (auto [list, most] : llvm::zip_equal(made.plan.meshes, limits))
          EXPECT_LE(countPeakLive(list).untilWeight, most);
      }
}

TEST(SearchTest, TakesNoScheduleThatDoesHalfOfTheWork) {
  // DualPipe places its two copies as a folded pipeline places its stages.
  for (int64_t meshes : {2, 4}) {
    PlanShape shape{meshes, 8, 2};
    SearchedPlan made = llvm::cantFail(
        searchPlan(shape, {}, std::vector<bool>(2 * meshes, true),
                   std::vector<int64_t>(meshes, 2 * meshes)));
    EXPECT_TRUE(made.plan.isTraining(2 * meshes, 8));
    EXPECT_GE(made.timeline.makespan, made.lowerBound);
  }
  auto isTraining = [](llvm::StringRef name, PlanShape shape) {
    Plan plan = llvm::cantFail(findSchedule(name)->makePlan(shape));
    return plan.isTraining(shape.meshes * shape.chunks, shape.microbatches);
  };
  EXPECT_TRUE(isTraining("DualPipeV", {2, 4, 2}));
  EXPECT_TRUE(isTraining("ZeroBubbleH1", {2, 4, 1}));
  EXPECT_FALSE(isTraining("DualPipe", {2, 4, 2}));
  EXPECT_FALSE(isTraining("ParallelPipelinesWithWrapAround", {4, 4, 1}));
}

TEST(SearchTest, OrdersStagesThatShareAMesh) {
  // The first and the last stage on one mesh, as a tied embedding wants it.
  PipelineProblem problem = makeProblem(3, 6);
  problem.placement.push_back(0);
  problem.splits.push_back(true);
  problem.mostLive = {3, 2, 2};
  problem.costs.stages = {
      {2, 2, 1, 3}, {3, 3, 3, 6}, {3, 4, 3, 7}, {5, 5, 4, 9}};
  SearchedPlan made = llvm::cantFail(searchPlan(problem));
  expectRuns(problem, made);
  // Nothing waits for itself even in the least memory limit.
  problem.mostLive = {2, 1, 1};
  expectRuns(problem, llvm::cantFail(searchPlan(problem)));
}

TEST(SearchTest, LeavesBackwardsWholeThatMustBe) {
  PipelineProblem problem = makeProblem(3, 5, 3);
  problem.splits = {false, true, false};
  SearchedPlan made = llvm::cantFail(searchPlan(problem));
  for (auto [mesh, list] : llvm::enumerate(made.plan.meshes))
    for (const Action &action : list)
      EXPECT_TRUE(mesh == 1 || action.kind == ActionKind::Forward ||
                  action.kind == ActionKind::Backward);
  expectRuns(problem, made);
}

TEST(SearchTest, SaysWhatHasNoRoom) {
  llvm::Expected<SearchedPlan> made = searchPlan(makeProblem(2, 4, 0));
  ASSERT_FALSE(static_cast<bool>(made));
  EXPECT_EQ(llvm::toString(made.takeError()),
            "no order fits: mesh 0 has 1 of the stages, so it must hold at "
            "least 1 live microbatches, got 0");
}

TEST(SearchTest, SaysWhatIsTooLarge) {
  llvm::Expected<SearchedPlan> made = searchPlan(makeProblem(16384, 4, 16384));
  ASSERT_FALSE(static_cast<bool>(made));
  EXPECT_EQ(llvm::toString(made.takeError()),
            "a searched schedule for 16384 stages and 4 microbatches "
            "would take too long to find; take fewer, or a schedule by its "
            "name");
}

TEST(SearchTest, ReadsTimes) {
  StageTimes times = llvm::cantFail(parseStageTimes(
      R"({"transfer": 2, "stages": [{"forward": 3, "input": 2, "weight": 4},
          {"forward": 5, "backward": 9, "split": false}]})"));
  EXPECT_EQ(times.costs.transfer, 2);
  EXPECT_EQ(times.costs.stages[0].backward, 6);
  EXPECT_EQ(times.costs.stages[1].backward, 9);
  EXPECT_EQ(times.splits, std::vector<bool>({true, false}));
  EXPECT_TRUE(times.placement.empty());
}

TEST(SearchTest, SaysWhatIsWrongWithTimes) {
  auto in = [](llvm::StringRef stage) {
    return getStageTimesError(("{\"stages\": [" + stage + "]}").str());
  };
  EXPECT_EQ(getStageTimesError("{}"),
            "expected an object with a list of \"stages\" when parsing times");
  EXPECT_EQ(in(R"({"forward": 0, "input": 1, "weight": 1})"),
            "expected a time, an integer from 1 to 2^32 at "
            "times.stages[0].forward");
  EXPECT_EQ(in(R"({"forward": 1, "input": 1})"),
            "expected \"forward\", and \"input\" and \"weight\" or, for a "
            "stage that is not split, \"backward\" at times.stages[0]");
  EXPECT_EQ(in(R"({"forward": 1, "input": 1, "weigth": 1})"),
            "unknown key at times.stages[0].weigth");
  EXPECT_EQ(in(R"({"forward": 1, "input": 1, "weight": 1, "split": 1})"),
            "expected true or false at times.stages[0].split");
  EXPECT_EQ(in(R"({"forward": 1, "input": 1, "weight": 1, "mesh": 0},
                  {"forward": 1, "input": 1, "weight": 1})"),
            "expected \"mesh\" in all stages or in none at times.stages");
}

/// What an order of 8 equal stages and 24 microbatches takes in a memory, with hosts that
/// take so long.
static SearchedPlan searchEqual(int64_t memory,
                                std::optional<int64_t> hostTime) {
  PipelineProblem problem = makeProblem(8, 24, memory);
  problem.hostTime = hostTime;
  llvm::Expected<SearchedPlan> made = searchPlan(problem);
  EXPECT_TRUE(bool(made));
  return std::move(*made);
}

TEST(SearchTest, HostsReplaceMemoryWhereTheLinkKeepsUp) {
  int64_t all = searchEqual(8, std::nullopt).timeline.makespan;
  int64_t half = searchEqual(4, std::nullopt).timeline.makespan;
  EXPECT_LT(all, half);
  // A step of a microbatch takes 3.
  SearchedPlan fast = searchEqual(4, 1);
  EXPECT_LE(fast.timeline.makespan, all);
  ASSERT_TRUE(fast.hosts);
  EXPECT_LE(*llvm::max_element(fast.hosts->onDevices), 4 * kPartsOfMicrobatch);
  EXPECT_GT(fast.hosts->numSent.front(), 0);
  EXPECT_LT(searchEqual(4, 2).timeline.makespan, half);
  EXPECT_EQ(searchEqual(4, 1000).timeline.makespan, half);
}

/// Each action starts when its inputs are there and the mesh is free.
static void expectOrdered(const PipelineProblem &problem,
                          const SearchedPlan &made) {
  std::map<std::tuple<int64_t, ActionKind, int64_t>, int64_t> stops;
  for (auto [list, times] :
       llvm::zip_equal(made.plan.meshes, made.timeline.meshes)) {
    int64_t free = 0;
    for (auto [action, interval] : llvm::zip_equal(list, times)) {
      EXPECT_GE(interval.start, free);
      free = interval.stop;
      stops[{action.stage, action.kind, action.microbatch}] = interval.stop;
    }
    EXPECT_LE(free, made.timeline.makespan);
  }
  for (auto [list, times] :
       llvm::zip_equal(made.plan.meshes, made.timeline.meshes))
    for (auto [action, interval] : llvm::zip_equal(list, times)) {
      auto from =
          stops.find({action.kind == ActionKind::Forward ? action.stage - 1
                                                         : action.stage + 1,
                      action.kind, action.microbatch});
      if (from == stops.end() || action.kind == ActionKind::Weight)
        continue;
      int64_t hop = problem.getHop(std::get<0>(from->first), action.stage);
      EXPECT_GE(interval.start, from->second + hop);
    }
}

TEST(SearchTest, HostedOrdersKeepToMemoryAndFlow) {
  std::mt19937 random(5);
  unsigned numSent = 0;
  for (int round = 0; round < 40; ++round) {
    PipelineProblem problem = makeRandomProblem(random, 4, 6);
    for (int64_t &most : problem.mostLive)
      most = 1 + most % 3;
    llvm::Expected<SearchedPlan> plain = searchPlan(problem);
    ASSERT_TRUE(bool(plain));
    problem.hostTime = random() % 12;
    llvm::Expected<SearchedPlan> made = searchPlan(problem);
    ASSERT_TRUE(bool(made));
    EXPECT_LE(made->timeline.makespan, plain->timeline.makespan);
    EXPECT_GE(made->timeline.makespan, made->lowerBound);
    ASSERT_TRUE(made->hosts);
    for (auto [parts, most] :
         llvm::zip_equal(made->hosts->onDevices, problem.mostLive))
      EXPECT_LE(parts, most * kPartsOfMicrobatch);
    numSent += llvm::any_of(made->hosts->numSent,
                            [](int64_t parts) { return parts > 0; });
    expectOrdered(problem, *made);
  }
  EXPECT_GT(numSent, 5u);
}
