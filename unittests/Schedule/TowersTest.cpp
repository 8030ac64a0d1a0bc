//===- TowersTest.cpp - Graphs of stages ----------------------------------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

#include "ScheduleTest.h"
#include "llvm/ADT/STLExtras.h"
#include "gtest/gtest.h"
#include <random>

using namespace meshwright;

namespace {
StageGraph parse(llvm::StringRef text) {
  return llvm::cantFail(parseStageGraph(text));
}

std::string getStageGraphError(llvm::StringRef text) {
  llvm::Expected<StageGraph> graph = parseStageGraph(text);
  return graph ? "no error" : llvm::toString(graph.takeError());
}

llvm::Expected<Plan> makeTowers(const StageGraph &graph, int64_t microbatches) {
  PlanShape shape{graph.countMeshes(), microbatches};
  shape.graph = graph;
  return findSchedule("Towers")->makePlan(shape);
}

std::string getPlanError(llvm::StringRef text) {
  llvm::Expected<Plan> plan = makeTowers(parse(text), 4);
  return plan ? "no error" : llvm::toString(plan.takeError());
}

PipelineProblem makeProblem(const StageGraph &graph, int64_t microbatches) {
  PipelineProblem problem;
  llvm::cantFail(problem.place(graph));
  problem.microbatches = microbatches;
  problem.splits.assign(graph.countStages(), true);
  problem.mostLive = getUsualLimits(graph);
  return problem;
}

/// Two or three towers, on meshes of their own, of which each feeds a stage of the
/// next one, some of them every stage.
PipelineProblem makeRandomTowers(std::mt19937 &random, int64_t mostStages,
                                 int64_t mostMicrobatches) {
  auto draw = [&](int64_t from, int64_t to) {
    return from + static_cast<int64_t>(random() % (to - from + 1));
  };
  int64_t towers = draw(2, 3);
  std::string text, feeds;
  std::vector<int64_t> counts;
  for (int64_t tower = 0; tower < towers; ++tower) {
    counts.push_back(draw(1, mostStages));
    text +=
        "t" + std::to_string(tower) + ":" + std::to_string(counts.back()) + ";";
  }
  for (int64_t tower = 0; tower + 1 < towers; ++tower) {
    int64_t to = draw(tower + 1, towers - 1);
    std::string stage =
        draw(0, 2) == 0 ? "*" : std::to_string(draw(0, counts[to] - 1));
    feeds += (feeds.empty() ? "t" : ";t") + std::to_string(tower) + ">t" +
             std::to_string(to) + "." + stage;
  }
  PipelineProblem problem =
      makeProblem(parse(text + feeds), draw(2, mostMicrobatches));
  problem.costs.transfer = draw(0, 3);
  for (int64_t stage = 0; stage < problem.getNumStages(); ++stage) {
    ActionCosts costs;
    costs.forward = draw(1, 9);
    costs.input = draw(1, 9);
    costs.weight = draw(1, 9);
    costs.backward = costs.input + costs.weight;
    problem.costs.stages.push_back(costs);
  }
  return problem;
}

/// Whether some order takes less than a given time: tries all of them, by the starts
/// of their actions.
class ExhaustiveTowers {
public:
  ExhaustiveTowers(const PipelineProblem &problem, int64_t limit)
      : problem(problem), links(problem.getLinks()), limit(limit),
        ends(problem.getNumStages()), free(problem.getNumMeshes()),
        left(problem.getNumMeshes()) {
    for (int64_t stage = 0; stage < problem.getNumStages(); ++stage) {
      const ActionCosts &cost = problem.costs.get(stage);
      left[problem.placement[stage]] +=
          problem.microbatches * (cost.forward + cost.input + cost.weight);
    }
  }

  bool isBeaten() { return visit(0); }

private:
  using Ends = std::array<std::vector<int64_t>, 3>;

  int64_t countLive(int64_t mesh) const {
    int64_t live = 0;
    for (int64_t stage = 0; stage < problem.getNumStages(); ++stage)
      if (problem.placement[stage] == mesh)
        live += static_cast<int64_t>(ends[stage][0].size()) -
                static_cast<int64_t>(ends[stage][2].size());
    return live;
  }
  /// None if an input is missing.
  std::optional<int64_t> findStart(int64_t stage, int kind) const {
    size_t next = ends[stage][kind].size();
    int64_t start = free[problem.placement[stage]];
    auto need = [&](int64_t from, int64_t other) {
      if (ends[from][other].size() <= next)
        return false;
      start = std::max(start,
                       ends[from][other][next] + problem.getHop(from, stage));
      return true;
    };
    if (kind == 0) {
      if (countLive(problem.placement[stage]) >=
          problem.mostLive[problem.placement[stage]])
        return std::nullopt;
      for (int64_t from : links.before[stage])
        if (!need(from, 0))
          return std::nullopt;
      return start;
    }
    if (!need(stage, kind - 1))
      return std::nullopt;
    if (kind == 1)
      for (int64_t from : links.after[stage])
        if (!need(from, 1))
          return std::nullopt;
    return start;
  }
  bool visit(int64_t latestStart) {
    bool isEnd = true;
    for (int64_t stage = 0; stage < problem.getNumStages(); ++stage)
      for (int kind = 0; kind < 3; ++kind) {
        std::vector<int64_t> &done = ends[stage][kind];
        if (static_cast<int64_t>(done.size()) == problem.microbatches)
          continue;
        isEnd = false;
        std::optional<int64_t> start = findStart(stage, kind);
        if (!start || *start < latestStart)
          continue;
        const ActionCosts &costs = problem.costs.get(stage);
        int64_t cost = kind == 0   ? costs.forward
                       : kind == 1 ? costs.input
                                   : costs.weight;
        int64_t mesh = problem.placement[stage], before = free[mesh];
        free[mesh] = *start + cost;
        left[mesh] -= cost;
        done.push_back(free[mesh]);
        bool isShorter = free[mesh] + left[mesh] < limit && visit(*start);
        done.pop_back();
        left[mesh] += cost;
        free[mesh] = before;
        if (isShorter)
          return true;
      }
    return isEnd;
  }

  const PipelineProblem &problem;
  StageLinks links;
  int64_t limit;
  std::vector<Ends> ends;
  std::vector<int64_t> free, left;
};

/// The makespans of towers in all mixtures of a few schedules that fit.
int64_t findBestFixed(const PipelineProblem &problem) {
  const llvm::StringLiteral names[] = {"GPipe", "1F1B", "Eager1F1B",
                                       "ZeroBubbleH1"};
  int64_t best = std::numeric_limits<int64_t>::max();
  size_t count = problem.graph.towers.size(), mixtures = 1;
  for (size_t tower = 0; tower < count; ++tower)
    mixtures *= std::size(names);
  for (size_t mixture = 0; mixture < mixtures; ++mixture) {
    StageGraph graph = problem.graph;
    size_t rest = mixture;
    for (Tower &tower : graph.towers) {
      tower.schedule = names[rest % std::size(names)].str();
      rest /= std::size(names);
    }
    Plan plan = llvm::cantFail(makeTowers(graph, problem.microbatches));
    if (fitsMemory(problem, plan))
      best = std::min(
          best, llvm::cantFail(simulatePlan(plan, problem.costs)).makespan);
  }
  return best;
}
} // namespace

TEST(TowersTest, TextsSayWhatFeedsWhat) {
  StageGraph graph =
      parse("vision:2@0-1=GPipe;aux:1;text:3;vision>text.*;vision.0>aux;aux>");
  EXPECT_EQ(graph.countStages(), 6);
  EXPECT_EQ(graph.countMeshes(), 6);
  EXPECT_EQ(graph.towers[2].meshes, std::vector<int64_t>({3, 4, 5}));
  EXPECT_EQ(graph.towers[0].schedule, "GPipe");
  std::vector<std::pair<int64_t, int64_t>> feeds = {
      {0, 2}, {1, 3}, {1, 4}, {1, 5}};
  EXPECT_EQ(graph.feeds, feeds);
  EXPECT_EQ(toString(graph),
            "vision:2@0+1=GPipe;aux:1@2=1F1B;text:3@3+4+5=1F1B;vision.0>aux.0;"
            "vision.1>text.0;vision.1>text.1;vision.1>text.2;aux>");
  EXPECT_EQ(parse(toString(graph)), graph);
  StageLinks links(graph, 6);
  EXPECT_EQ(links.countToEnd(), std::vector<int64_t>({5, 4, 1, 3, 2, 1}));
}

TEST(TowersTest, SaysWhatIsNoGraph) {
  EXPECT_EQ(
      getStageGraphError("vision:2;text:2"),
      "towers: no path leads from tower vision to a loss; say which stage "
      "it feeds, as in vision>NAME, or that it ends in a loss of its own, "
      "vision>");
  EXPECT_EQ(
      getStageGraphError("vision:2;text:2;text>vision"),
      "towers: text feeds vision, which does not come after it; list what "
      "feeds first, and give what is in a cycle a tower of its own");
  EXPECT_EQ(getStageGraphError("vision:2;text:2;vison>text"),
            "towers: unknown tower 'vison', known are vision, text; did you "
            "mean \"vision\"?");
  EXPECT_EQ(getStageGraphError("vision:2;text:2;vision>text.2"),
            "towers: 'text.2' is no stage of tower text, which has 0 to 1");
  EXPECT_EQ(getStageGraphError("vision:2;text"),
            "towers: unknown entry 'text'; expected a tower with its number of "
            "stages, as in vision:2, or vision>text for what feeds what");
  EXPECT_EQ(getStageGraphError("a:1@0+0;b:1;a>b"),
            "towers: meshes '0+0' of tower a: expected a range such as 0-3, or "
            "numbers such as 0+2");
  EXPECT_EQ(
      getStageGraphError("a:1@0;b:1@2;a>b"),
      "towers: mesh 1 has no tower, but mesh 2 has; number meshes without "
      "a gap");
  EXPECT_EQ(getStageGraphError("a:4000;b:4000;a>b"),
            "towers: more than 4096 stages; a pipeline has fewer");
  std::string feeds = "a:40;b:4000";
  for (int stage = 0; stage < 40; ++stage)
    feeds += ";a." + std::to_string(stage) + ">b.*";
  EXPECT_EQ(getStageGraphError(feeds),
            "towers: more than 65536 pairs of stages feed each "
            "other; a pipeline has fewer");
  EXPECT_EQ(getStageGraphError("a:1;a:2"),
            "towers: tower a occurs twice; give each a name of its own");
}

TEST(TowersTest, SaysWhichScheduleATowerCannotHave) {
  EXPECT_EQ(getPlanError("a:2=auto;b:1;a>b"),
            "tower a: schedule auto orders all towers at once; name it for the "
            "whole program, or give the tower a schedule of one chain");
  EXPECT_EQ(getPlanError("a:2@0=LoopedBFS;b:1;a>b"),
            "tower a: schedule LoopedBFS runs microbatches backwards, or has "
            "the model twice, which other towers cannot follow; take another, "
            "such as 1F1B");
  EXPECT_EQ(getPlanError("a:2=Combined1F1B;b:1;a>b"),
            "tower a: schedule Combined1F1B has overlapped pairs, which towers "
            "have no place for; take another, such as 1F1B");
  EXPECT_EQ(getPlanError("a:2=Interleaved1F1B;b:1;a>b"),
            "tower a: schedule Interleaved1F1B needs at least 2 stages on each "
            "mesh, got 1");
}

TEST(TowersTest, ATowerAloneIsItsSchedule) {
  for (llvm::StringRef name : {"1F1B", "GPipe", "ZeroBubbleH1", "Eager1F1B"}) {
    Plan alone = llvm::cantFail(findSchedule(name)->makePlan({4, 8}));
    Plan tower = llvm::cantFail(makeTowers(parse(("t:4=" + name).str()), 8));
    EXPECT_EQ(tower.meshes, alone.meshes) << name.str();
  }
}

/// A chain in two towers is the chain.
TEST(TowersTest, TwoTowersInARowAreOneChain) {
  Plan chain = llvm::cantFail(findSchedule("1F1B")->makePlan({4, 8}));
  Plan towers = llvm::cantFail(makeTowers(parse("a:2;b:2;a>b"), 8));
  EXPECT_EQ(towers.meshes, chain.meshes);
}

TEST(TowersTest, EveryMixtureRuns) {
  const llvm::StringLiteral names[] = {
      "GPipe", "1F1B", "Eager1F1B", "ZeroBubbleH1", "ZeroBubbleH2FullTxLatency",
      "none"};
  for (llvm::StringRef first : names)
    for (llvm::StringRef second : names)
      for (llvm::StringRef feed : {"a>b", "a>b.*", "a>b.2", "a.0>b.1;a>b.2"})
        for (llvm::StringRef meshes : {"", "@0-2"}) {
          std::string text =
              ("a:2=" + first + ";b:3" + meshes + "=" + second + ";" + feed)
                  .str();
          SCOPED_TRACE(text);
          Plan plan = llvm::cantFail(makeTowers(parse(text), 6));
          EXPECT_TRUE(plan.isTraining(5, 6));
          EXPECT_TRUE(findStalls(plan).empty());
        }
}

TEST(TowersTest, TowersWithSeveralStagesOnAMeshRun) {
  for (llvm::StringRef text :
       {"a:4@0-1=Interleaved1F1B;b:2;a>b", "a:4@0-1=ZeroBubbleV;b:2;a>b.*",
        "a:2;b:4@2-3=KimiK2;a>b.1",
        "a:4@0-1=InterleavedZeroBubble;b:4@0-1="
        "Interleaved1F1B;a>b"}) {
    SCOPED_TRACE(text.str());
    Plan plan = llvm::cantFail(makeTowers(parse(text), 8));
    EXPECT_TRUE(plan.isTraining(parse(text).countStages(), 8));
    EXPECT_TRUE(findStalls(plan).empty());
  }
}

TEST(TowersTest, FilesHaveTheGraph) {
  constexpr llvm::StringLiteral kText =
      "towers a:1@0=1F1B;b:1@1=1F1B;c:1@2=1F1B;a.0>c.0;b.0>c.0\n"
      "0F0,0F1,0B0,0B1\n1F0,1F1,1B0,1B1\n2F0,2B0,2F1,2B1\n";
  Plan plan = llvm::cantFail(parsePlan(kText));
  // The two run side by side.
  EXPECT_EQ(llvm::cantFail(simulatePlan(plan)).meshes[1][0].start, 0);
  EXPECT_EQ(toCsv(plan), kText);
  EXPECT_EQ(llvm::cantFail(parsePlan(toJson(plan))).graph, plan.graph);
}

TEST(TowersTest, SaysWhatContradictsInAFile) {
  auto getFileError = [](llvm::StringRef text) {
    llvm::Expected<Plan> plan = parsePlan(text);
    return plan ? "no error" : llvm::toString(plan.takeError());
  };
  EXPECT_EQ(
      getFileError("towers a:1@0;b:1@0;a>b\n1F0,0F0,1B0,0B0\n"),
      "row 1 column 1: the orders of towers b and a contradict each other "
      "on rank 0: 1F0 of b needs 0F0 of a, which comes in row 1 column 2; "
      "put the latter first");
  EXPECT_EQ(getFileError("towers a:1;b:1;a>b\n1F0,1B0\n0F0,0B0\n"),
            "row 1 column 1: 1F0 is of tower b, which is not on rank 0; put it "
            "into a row of its own tower");
  EXPECT_EQ(getFileError("towers a:1;b:2;a>b\n0F0,0B0\n1F0,1B0\n"),
            "the towers have 3 stages on 3 meshes, but the rows are 2 with 2 "
            "stages; expected a row for each mesh");
  EXPECT_EQ(getFileError("towers a:1;b:1\n0F0,0B0\n1F0,1B0\n"),
            getStageGraphError("a:1;b:1"));
}

TEST(TowersTest, NoOrderOfSmallGraphsIsShorter) {
  std::mt19937 random(4);
  for (unsigned trial = 0; trial < 25; ++trial) {
    PipelineProblem problem = makeRandomTowers(random, 1, 2);
    SearchedPlan made = llvm::cantFail(searchPlan(problem));
    EXPECT_TRUE(made.optimal) << trial;
    EXPECT_FALSE(ExhaustiveTowers(problem, made.timeline.makespan).isBeaten())
        << trial;
    EXPECT_TRUE(
        ExhaustiveTowers(problem, made.timeline.makespan + 1).isBeaten())
        << trial;
    expectRuns(problem, made);
  }
}

TEST(TowersTest, IsNeverLongerThanTowersOfFixedSchedules) {
  std::mt19937 random(5);
  double distance = 0;
  constexpr unsigned kTrials = 30;
  for (unsigned trial = 0; trial < kTrials; ++trial) {
    PipelineProblem problem = makeRandomTowers(random, 3, 12);
    SearchedPlan made = llvm::cantFail(searchPlan(problem));
    distance += made.getDistance() / kTrials;
    EXPECT_LE(made.timeline.makespan, findBestFixed(problem)) << trial;
    expectRuns(problem, made);
  }
  EXPECT_LT(distance, 0.05);
}

TEST(TowersTest, OrdersTowersThatShareMeshes) {
  PipelineProblem problem =
      makeProblem(parse("a:2@0-1;b:2@0-1;c:1@0;a>c;b>c"), 6);
  problem.costs.stages = {
      {2, 2, 1, 3}, {3, 3, 3, 6}, {3, 4, 3, 7}, {5, 5, 4, 9}, {1, 2, 1, 3}};
  SearchedPlan made = llvm::cantFail(searchPlan(problem));
  EXPECT_LE(made.timeline.makespan, findBestFixed(problem));
  expectRuns(problem, made);
}
