//===- PlanSummaryTest.cpp - Plans simulated without items ----------------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// What is printed of a summary is that of the workload written out, to the byte.
//
//===----------------------------------------------------------------------===//

#include "meshwright/Simulator/Pipeline/PlanSummary.h"
#include "TowerPlans.h"
#include "meshwright/Schedule/Patterns/Alternate.h"
#include "meshwright/Simulator/Pipeline/PlanRounds.h"
#include "meshwright/Simulator/Pipeline/StepGraph.h"
#include "meshwright/Simulator/PlanWorkload.h"
#include "gtest/gtest.h"
#include <algorithm>
#include <map>
#include <random>
#include <string>

using namespace meshwright;

namespace {
std::string print(const Workload &workload, const Simulation &simulation) {
  std::string text;
  llvm::raw_string_ostream os(text);
  writeJson(workload, simulation, os);
  printTable(workload, simulation, os);
  return text;
}

std::string printWhole(const Plan &plan, const PipelineCosts &costs) {
  Workload workload = makeWorkload(plan, PipelineModel::make(costs));
  llvm::Expected<Simulation> simulation = simulate(workload);
  if (!simulation)
    return llvm::toString(simulation.takeError());
  return print(workload, *simulation);
}

std::string printSummary(const Plan &plan, const PipelineCosts &costs) {
  llvm::Expected<PlanSummary> summary = summarizePlan(plan, costs);
  if (!summary)
    return llvm::toString(summary.takeError());
  return print(summary->workload, summary->simulation);
}

/// Whether a plan was summarized, rather than written out.
bool hasItems(const Plan &plan, const PipelineCosts &costs) {
  return !llvm::cantFail(summarizePlan(plan, costs)).workload.items.empty();
}

/// With many ties between what a step may wait for: few times, in half of them some none.
PipelineCosts drawCosts(std::mt19937 &random, int64_t stages,
                        int64_t microbatches) {
  PipelineCosts costs;
  costs.transfer = random() % 3;
  if (random() % 3 == 0)
    return costs;
  int64_t least = random() % 2, most = 1 + random() % 4;
  auto draw = [&] {
    return std::uniform_int_distribution(least, most)(random);
  };
  for (int64_t stage = 0; stage < stages; ++stage) {
    ActionCosts &times = costs.stages.emplace_back();
    times.forward = draw();
    times.input = draw();
    times.weight = draw();
    times.backward = draw() + draw();
    if (random() % 2)
      times.overlapped = std::max(times.forward, times.backward);
  }
  if (random() % 3 == 0) {
    std::vector<int64_t> scales(microbatches);
    for (int64_t &scale : scales)
      scale = 1 + random() % 3;
    costs.scaleMicrobatches(scales);
  }
  return costs;
}

void expectSame(const Plan &plan, const PipelineCosts &costs) {
  EXPECT_EQ(StepGraph(plan).writeOut().meshes, plan.meshes);
  EXPECT_FALSE(hasItems(plan, costs));
  EXPECT_EQ(printSummary(plan, costs), printWhole(plan, costs));
}
} // namespace

TEST(PlanSummaryTest, IsThatOfTheWorkloadForAllSchedules) {
  std::mt19937 random(17);
  for (const Schedule *schedule : getSchedules()) {
    SCOPED_TRACE(schedule->name.str());
    // Some have plans for few shapes, and some take long to find one.
    int numPlans = 0, wanted = schedule->isSearched ? 5 : 20;
    if (schedule->takesTowers && !schedule->isSearched)
      continue;
    for (int trial = 0; trial < 2000 && numPlans < wanted; ++trial) {
      PlanShape shape;
      shape.meshes = 1 + random() % 5;
      shape.microbatches = 1 + random() % 13;
      shape.chunks = schedule->usualChunks;
      if (schedule->mostChunks == kAnyChunks)
        shape.chunks += random() % 2;
      if (schedule->takesSequenceChunks) {
        shape.sequenceChunks = 1 + random() % 3;
        shape.microbatches *= shape.sequenceChunks;
      }
      auto plan = schedule->makePlan(shape);
      if (!plan) {
        llvm::consumeError(plan.takeError());
        continue;
      }
      ++numPlans;
      SCOPED_TRACE(std::to_string(shape.meshes) + " meshes, " +
                   std::to_string(shape.microbatches) + " microbatches");
      // DualPipe and parts of the vocabulary have further stages.
      expectSame(*plan, drawCosts(random, 4 * shape.countStages(),
                                  plan->countMicrobatches()));
    }
    EXPECT_EQ(numPlans, wanted);
  }
}

/// Plans of many microbatches for a few meshes, by the names of their schedules.
template <typename Visit> static void forEachLongPlan(Visit visit) {
  std::mt19937 random(20);
  for (const Schedule *schedule : getSchedules()) {
    SCOPED_TRACE(schedule->name.str());
    if (schedule->isSearched || schedule->takesTowers)
      continue;
    for (int trial = 0; trial < 15; ++trial) {
      PlanShape shape;
      shape.meshes = 1 + random() % 5;
      shape.microbatches = shape.meshes * (12 + random() % 12);
      shape.chunks = schedule->usualChunks;
      if (schedule->takesSequenceChunks) {
        shape.sequenceChunks = 1 + random() % 3;
        shape.microbatches *= shape.sequenceChunks;
      }
      SCOPED_TRACE(std::to_string(shape.meshes) + " meshes, " +
                   std::to_string(shape.microbatches) + " microbatches");
      if (auto plan = schedule->makePlan(shape))
        visit(schedule->name.str(), *plan,
              drawCosts(random, 4 * shape.countStages(),
                        plan->countMicrobatches()));
      else
        llvm::consumeError(plan.takeError());
    }
  }
}

TEST(PlanSummaryTest, RoundsThatAreLeftOutChangeNothing) {
  std::map<std::string, int> shortened;
  forEachLongPlan([&](const std::string &name, const Plan &plan,
                      const PipelineCosts &costs) {
    expectSame(plan, costs);
    shortened[name] +=
        llvm::cantFail(summarizePlan(plan, costs)).removedRounds > 0;
  });
  for (const char *name : {"1F1B", "ZeroBubbleH1"})
    EXPECT_GT(shortened[name], 3) << name;
}

TEST(PlanSummaryTest, RoundsComeBack) {
  int numShortened = 0;
  forEachLongPlan(
      [&](const std::string &, const Plan &plan, const PipelineCosts &) {
        std::optional<PlanRounds> rounds = PlanRounds::find(plan);
        Plan changed = plan;
        if (!rounds || !rounds->shorten(changed))
          return;
        ++numShortened;
        EXPECT_EQ(changed.countActions() +
                      rounds->removed * rounds->microbatches *
                          (plan.countActions() / plan.countMicrobatches()),
                  plan.countActions());
        rounds->lengthen(changed);
        EXPECT_EQ(changed.meshes, plan.meshes);
      });
  EXPECT_GT(numShortened, 50);
}

// Between 1F1B and plans that hold more microbatches, with and without halves of backward
// passes, and other orders within rounds.
TEST(PlanSummaryTest, RoundsOfAnyPipelineMayBeLeftOut) {
  std::mt19937 random(22);
  int numShortened = 0;
  for (int trial = 0; trial < 200; ++trial) {
    PlanShape shape;
    shape.meshes = 1 + random() % 6;
    shape.microbatches = 60 + random() % 40;
    std::optional<int64_t> lag;
    if (random() % 2)
      lag = random() % 4;
    int64_t lead = random() % 4;
    Plan plan;
    for (int64_t mesh = shape.meshes; mesh-- > 0;) {
      lead += random() % 3;
      plan.meshes.insert(plan.meshes.begin(),
                         alternate(mesh, shape, shape.microbatches,
                                   {lead, lag, /*overlaps=*/trial % 5 == 0}));
    }
    if (random() % 4 == 0)
      for (Action &action : plan.meshes[random() % shape.meshes])
        if (action.microbatch % 3 == 1 && random() % 20)
          std::swap(action, *(&action - 1));
    PipelineCosts costs = drawCosts(random, shape.meshes, shape.microbatches);
    std::string expected = printWhole(plan, costs);
    EXPECT_EQ(printSummary(plan, costs), expected);
    auto summary = summarizePlan(plan, costs);
    if (!summary)
      llvm::consumeError(summary.takeError());
    else
      numShortened += summary->removedRounds > 0;
  }
  EXPECT_GT(numShortened, 40);
}

// Actions that are elsewhere than in the other rounds.
TEST(PlanSummaryTest, RoundsThatDifferAreSimulated) {
  std::mt19937 random(21);
  int numRunning = 0;
  for (int trial = 0; trial < 300; ++trial) {
    int64_t meshes = 1 + random() % 4;
    const Schedule *schedule =
        findSchedule(trial % 2 ? "ZeroBubbleH1" : "1F1B");
    Plan plan = llvm::cantFail(schedule->makePlan({meshes, 70}));
    ActionList &list = plan.meshes[random() % meshes];
    size_t place = random() % (list.size() - 1);
    if (trial % 3 == 0)
      std::swap(list[place], list[random() % list.size()]);
    else
      std::swap(list[place], list[place + 1]);
    PipelineCosts costs = drawCosts(random, meshes, 70);
    std::string expected = printWhole(plan, costs);
    numRunning += !llvm::StringRef(expected).starts_with("deadlock: ");
    EXPECT_EQ(printSummary(plan, costs), expected);
  }
  EXPECT_GT(numRunning, 50);
}

TEST(PlanSummaryTest, IsThatOfTheWorkloadForTowers) {
  std::mt19937 random(18);
  forEachTowerPlan([&](const StageGraph &graph, const Plan &plan) {
    for (int trial = 0; trial < 10; ++trial)
      expectSame(plan, drawCosts(random, graph.countStages(), 6));
  });
}

// Orders that no schedule has; many of them wait for each other.
TEST(PlanSummaryTest, IsThatOfTheWorkloadForDisturbedOrders) {
  std::mt19937 random(19);
  int numRunning = 0, numStuck = 0;
  for (int trial = 0; trial < 400; ++trial) {
    int64_t meshes = 1 + random() % 4, microbatches = 1 + random() % 6;
    const Schedule *schedule =
        findSchedule(trial % 2 ? "ZeroBubbleH1" : "GPipe");
    Plan plan = llvm::cantFail(schedule->makePlan({meshes, microbatches}));
    for (int swaps = random() % 8; swaps > 0; --swaps) {
      ActionList &list = plan.meshes[random() % meshes];
      std::swap(list[random() % list.size()], list[random() % list.size()]);
    }
    PipelineCosts costs = drawCosts(random, meshes, microbatches);
    std::string expected = printWhole(plan, costs);
    bool isStuck = llvm::StringRef(expected).starts_with("deadlock: ");
    ++(isStuck ? numStuck : numRunning);
    EXPECT_EQ(printSummary(plan, costs), expected);
    if (!isStuck)
      EXPECT_FALSE(hasItems(plan, costs));
  }
  EXPECT_GT(numRunning, 50);
  EXPECT_GT(numStuck, 50);
}

TEST(PlanSummaryTest, PlansWithoutAFormOfTheirOwnAreWrittenOut) {
  constexpr ActionKind F = ActionKind::Forward, B = ActionKind::Backward,
                       W = ActionKind::Weight;
  Plan repeated, alone, large, empty;
  repeated.meshes = {{{0, F, 0}, {0, F, 0}, {0, B, 0}}};
  alone.meshes = {{{0, F, 0}, {0, B, 0}, {0, W, 0}}};
  large.meshes = {{{0, F, int64_t(1) << 31}, {0, B, int64_t(1) << 31}}};
  empty.meshes = {{}, {}};
  PipelineCosts costs;
  for (const Plan *plan : {&repeated, &alone, &large}) {
    EXPECT_TRUE(hasItems(*plan, costs));
    EXPECT_EQ(printSummary(*plan, costs), printWhole(*plan, costs));
  }
  EXPECT_EQ(printSummary(empty, costs), printWhole(empty, costs));
}

TEST(PlanSummaryTest, TimesThatCannotBeCountedAreExplained) {
  Plan plan = llvm::cantFail(findSchedule("GPipe")->makePlan({2, 4}));
  PipelineCosts costs;
  costs.usual.forward = int64_t(1) << 61;
  EXPECT_EQ(printSummary(plan, costs), printWhole(plan, costs));
  EXPECT_NE(printSummary(plan, costs).find("longer than"), std::string::npos);
}
