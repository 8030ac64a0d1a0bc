//===- SimulationTest.cpp - Small cases, by hand --------------------------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

#include "meshwright/Simulator/Simulation.h"
#include "gtest/gtest.h"
#include <limits>

using namespace meshwright;

namespace {
/// Meshes named m0 and so on, each with an activity `run` of its own.
struct Bench {
  explicit Bench(uint32_t numMeshes) {
    for (uint32_t mesh = 0; mesh < numMeshes; ++mesh)
      workload.meshes.push_back({"m" + std::to_string(mesh)});
    workload.queues.resize(numMeshes);
  }

  uint32_t addRun(uint32_t mesh, Ticks duration,
                  llvm::ArrayRef<uint32_t> reads = {},
                  int64_t temporaryBytes = 0) {
    Workload::Activity activity;
    activity.mesh = activity.source = mesh;
    activity.name = "f" + std::to_string(workload.items.size());
    activity.duration = duration;
    activity.temporaryBytes = temporaryBytes;
    workload.activities.push_back(activity);
    return workload.addItem(workload.activities.size() - 1, -1, reads);
  }

  uint32_t addTransfer(uint32_t from, uint32_t to, Ticks duration,
                       Ticks latency, uint32_t value) {
    Workload::Activity activity;
    activity.kind = ItemKind::Transfer;
    activity.source = from;
    activity.mesh = to;
    activity.name = "t" + std::to_string(workload.items.size());
    activity.duration = duration;
    activity.latency = latency;
    activity.bytes = 8;
    workload.activities.push_back(activity);
    return workload.addItem(workload.activities.size() - 1, -1, value);
  }

  uint32_t addResult(uint32_t item, int64_t bytes = 0, bool isKept = false) {
    return workload.addValue(workload.getActivity(item).mesh, item, bytes,
                             isKept);
  }

  Simulation run() { return llvm::cantFail(simulate(workload, true)); }

  Workload workload;
};

using Times = std::vector<Ticks>;
using Items = std::vector<uint32_t>;
using Levels = std::vector<std::pair<Ticks, int64_t>>;

Items getPath(const Simulation &simulation) {
  Items items;
  for (const Simulation::PathItem &item : simulation.criticalPath)
    items.push_back(item.item);
  return items;
}

std::string getError(const Workload &workload) {
  auto found = simulate(workload);
  return found ? "no error" : llvm::toString(found.takeError());
}

Levels getLevels(const Simulation::Mesh &mesh) {
  Levels levels;
  for (const Simulation::Level &level : mesh.levels)
    levels.emplace_back(level.time, level.bytes);
  return levels;
}
} // namespace

// m0: f0[0,3) ──3..5──► m1: f2[5,9) ; f1[3,5) of m0 ends early.
TEST(SimulationTest, ItemsWaitForOperandsAndForTheirMesh) {
  Bench bench(2);
  uint32_t f0 = bench.addRun(0, 3);
  bench.addRun(0, 2);
  uint32_t t = bench.addTransfer(0, 1, 1, 1, bench.addResult(f0));
  bench.addRun(1, 4, bench.addResult(t));
  Simulation found = bench.run();
  EXPECT_EQ(found.makespan, 9);
  EXPECT_EQ(found.start, (Times{0, 3, 3, 5}));
  EXPECT_EQ(found.stop, (Times{3, 5, 5, 9}));
  EXPECT_EQ(found.slack, (Times{0, 4, 0, 0}));
  EXPECT_EQ(getPath(found), (Items{0, 2, 3}));
  EXPECT_EQ(found.meshes[0].busy, 5);
  EXPECT_DOUBLE_EQ(found.meshes[0].bubble, 1 - 5.0 / 9);
  ASSERT_EQ(found.edges.size(), 1u);
  EXPECT_EQ(found.edges[0].bytes, 8);
  EXPECT_EQ(found.edges[0].busy, 1);
  EXPECT_EQ(found.edges[0].slack, 0);
}

// Both want to leave m0 at 1: the second goes when the first has left, though
// the first is still on its way. The third comes from elsewhere, to elsewhere.
TEST(SimulationTest, TransfersQueueForLinks) {
  for (bool contend : {true, false}) {
    Bench bench(4);
    bench.workload.linksContend = contend;
    uint32_t f0 = bench.addRun(0, 1);
    uint32_t f1 = bench.addRun(3, 1);
    bench.addTransfer(0, 1, 4, 10, bench.addResult(f0));
    bench.addTransfer(0, 2, 4, 10, bench.addResult(f0));
    bench.addTransfer(3, 0, 4, 10, bench.addResult(f1));
    Simulation found = bench.run();
    EXPECT_EQ(found.stop, (Times{1, 1, 15, contend ? 19 : 15, 15}));
    EXPECT_EQ(found.slack[2], 0);
    EXPECT_EQ(found.slack[4], contend ? 4 : 0);
  }
}

// They arrive at one mesh by one way in; who asks first, goes first.
// Each way between a mesh and its host is a link of its own, beside those of the meshes.
TEST(SimulationTest, HostsHaveLinksOfTheirOwn) {
  Bench bench(2);
  uint32_t f0 = bench.addRun(0, 1);
  uint32_t value = bench.addResult(f0);
  auto addCopy = [&](HostWay way, uint32_t read) {
    uint32_t copy = bench.addTransfer(0, 0, 4, 1, read);
    bench.workload.activities.back().hostWay = way;
    return copy;
  };
  uint32_t there = addCopy(HostWay::There, value);
  addCopy(HostWay::There, value);
  bench.addTransfer(0, 1, 4, 1, value);
  addCopy(HostWay::Back, bench.addResult(there));
  Simulation found = bench.run();
  EXPECT_EQ(found.stop, (Times{1, 6, 10, 6, 11}));
  ASSERT_EQ(found.edges.size(), 3u);
  using Names = std::pair<std::string, std::string>;
  EXPECT_EQ(getEndNames(bench.workload, found.edges[0]),
            Names("m0", "m0#pinned_host"));
  EXPECT_EQ(found.edges[0].transfers, 2);
  EXPECT_EQ(getEndNames(bench.workload, found.edges[1]),
            Names("m0#pinned_host", "m0"));
  EXPECT_EQ(getEndNames(bench.workload, found.edges[2]), Names("m0", "m1"));
}

// What is delayed takes no memory before its turn.
TEST(SimulationTest, DelayedTransfersWaitForARun) {
  Bench bench(2);
  uint32_t f0 = bench.addRun(0, 1);
  uint32_t g0 = bench.addRun(1, 6);
  uint32_t t = bench.addTransfer(0, 1, 1, 0, bench.addResult(f0));
  bench.addRun(1, 2, bench.addResult(t, 5));
  bench.workload.after = {kNoItem, kNoItem, g0, kNoItem};
  Simulation found = bench.run();
  EXPECT_EQ(found.start, (Times{0, 0, 6, 7}));
  EXPECT_EQ(found.slack, (Times{5, 0, 0, 0}));
  EXPECT_EQ(getPath(found), (Items{1, 2, 3}));
  EXPECT_EQ(getLevels(found.meshes[1]), (Levels{{6, 5}, {9, 0}}));
}

// The thread waits for what has to be on the host, and issues nothing else meanwhile.
TEST(SimulationTest, RunsAwaitWhatLeaves) {
  for (bool issues : {true, false}) {
    Bench bench(2);
    uint32_t f0 = bench.addRun(0, 1);
    uint32_t copy = bench.addTransfer(0, 0, 4, 1, bench.addResult(f0));
    bench.workload.activities.back().hostWay = HostWay::There;
    bench.addRun(0, 2);
    bench.addRun(1, 1);
    bench.workload.after = {kNoItem, kNoItem, copy, kNoItem};
    if (issues)
      bench.workload.issueOrder = {0, 1, 2, 3};
    Simulation found = bench.run();
    EXPECT_EQ(found.start, (Times{0, 1, 6, issues ? 6 : 0}));
    EXPECT_EQ(found.slack[1], 0);
  }
}

// Neighbours of one way are issued together.
TEST(SimulationTest, CopiesToAHostAreIssuedTogether) {
  for (bool together : {true, false}) {
    Bench bench(1);
    uint32_t f0 = bench.addRun(0, 1);
    uint32_t value = bench.addResult(f0);
    for (unsigned copy = 0; copy < 3; ++copy) {
      bench.addTransfer(0, 0, 0, 0, value);
      if (together || copy != 1)
        bench.workload.activities.back().hostWay = HostWay::There;
    }
    bench.addRun(0, 1);
    bench.workload.issueOrder = {0, 1, 2, 3, 4};
    bench.workload.issueCost = 10;
    EXPECT_EQ(bench.run().start.back(), together ? 30 : 50);
  }
}

TEST(SimulationTest, WhoAsksFirstGoesFirst) {
  Bench bench(3);
  uint32_t f0 = bench.addRun(0, 5);
  uint32_t f1 = bench.addRun(1, 3);
  bench.addTransfer(0, 2, 4, 0, bench.addResult(f0));
  bench.addTransfer(1, 2, 4, 0, bench.addResult(f1));
  Simulation found = bench.run();
  EXPECT_EQ(found.start, (Times{0, 0, 7, 3}));
  EXPECT_EQ(found.stop, (Times{5, 3, 11, 7}));
  EXPECT_EQ(found.waitedFor, (Items{kNoItem, kNoItem, 3, 1}));
}

// The thread issues an item in 2, and m0 takes two: f2 is issued when f0 has
// ended at 12, so f3 of another mesh is at 16, though its mesh is free.
TEST(SimulationTest, AFullQueueHoldsTheThreadUp) {
  Bench bench(2);
  for (int i = 0; i < 3; ++i)
    bench.addRun(0, 10);
  bench.addRun(1, 1);
  bench.workload.issueOrder = {0, 1, 2, 3};
  bench.workload.issueCost = 2;
  bench.workload.depth = 2;
  Simulation found = bench.run();
  EXPECT_EQ(found.start, (Times{2, 12, 22, 16}));
  EXPECT_EQ(found.waitedFor[3], 0u);
  EXPECT_EQ(found.slack, (Times{0, 0, 0, 15}));
  // With a thread for each mesh, nothing is held up.
  bench.workload.meshes[1].issuer = 1;
  EXPECT_EQ(bench.run().start, (Times{2, 12, 22, 2}));
  bench.workload.depth = 32;
  bench.workload.meshes[1].issuer = 0;
  EXPECT_EQ(bench.run().start, (Times{2, 12, 22, 8}));
}

// An issue that is late makes everything after it late: no slack on the way.
TEST(SimulationTest, SlackGoesThroughTheIssuingThread) {
  Bench bench(2);
  bench.addRun(0, 1);
  bench.addRun(1, 9);
  bench.workload.issueOrder = {0, 1};
  bench.workload.issueCost = 3;
  Simulation found = bench.run();
  EXPECT_EQ(found.makespan, 15);
  EXPECT_EQ(found.slack, (Times{11, 0}));
}

// The result takes its place when the run starts; the operand leaves when the
// last reader ends.
TEST(SimulationTest, BuffersLiveUntilTheLastReader) {
  Bench bench(1);
  uint32_t argument = bench.workload.addValue(0, kNoItem, 100, true);
  uint32_t f0 = bench.addRun(0, 2, argument);
  uint32_t x = bench.addResult(f0, 10);
  uint32_t f1 = bench.addRun(0, 2, x, 7);
  bench.addResult(f1, 1, true);
  Simulation found = bench.run();
  EXPECT_EQ(getLevels(found.meshes[0]),
            (Levels{std::pair(0, 110), std::pair(2, 118), std::pair(4, 0)}));
  EXPECT_EQ(found.meshes[0].peakBytes, 118);
  EXPECT_EQ(found.meshes[0].peakTime, 2);
  const auto &peak = found.meshes[0].peak;
  ASSERT_EQ(peak.size(), 4u);
  EXPECT_EQ(peak[0].what, "arguments");
  EXPECT_EQ(peak[1].what, "results of f0");
  EXPECT_EQ(peak[2].what, "temporaries of f1");
  EXPECT_EQ(peak[3].bytes, 1);
}

// A reader that takes the buffer over needs no second one, unless someone else
// still reads it, or the caller keeps it.
TEST(SimulationTest, DonatedBuffersAreCountedOnce) {
  for (bool isKept : {false, true})
    for (bool isReadLater : {false, true}) {
      Bench bench(1);
      uint32_t argument = bench.workload.addValue(0, kNoItem, 64, isKept);
      uint32_t f0 = bench.addRun(0, 2, argument);
      uint32_t result = bench.addResult(f0, 64, true);
      bench.workload.fates = {result};
      if (isReadLater) {
        bench.addRun(0, 2, argument);
        bench.workload.fates.push_back(Workload::kRead);
      }
      EXPECT_EQ(bench.run().meshes[0].peakBytes,
                isKept || isReadLater ? 128 : 64);
    }
}

TEST(SimulationTest, GivenUpBuffersAreFreeWhenTheRunStarts) {
  for (bool isGivenUp : {false, true}) {
    Bench bench(1);
    uint32_t argument = bench.workload.addValue(0, kNoItem, 64);
    uint32_t f0 = bench.addRun(0, 2, argument);
    bench.addResult(f0, 8, true);
    if (isGivenUp)
      bench.workload.fates = {Workload::kGivenUp};
    Simulation found = bench.run();
    EXPECT_EQ(found.meshes[0].peakBytes, isGivenUp ? 8 : 72);
  }
}

TEST(SimulationTest, UtilizationIsOfAllDevices) {
  Bench bench(2);
  bench.workload.meshes[0].devices = 3;
  bench.addRun(0, static_cast<Ticks>(kTicksPerSecond));
  bench.workload.activities.back().flops = 6;
  EXPECT_LT(bench.run().utilization, 0);
  bench.workload.peakFlops = 3;
  EXPECT_DOUBLE_EQ(bench.run().utilization, 0.5);
  bench.workload.activities.back().flops =
      std::numeric_limits<double>::infinity();
  EXPECT_EQ(bench.run().utilization, std::numeric_limits<double>::max());
}

TEST(SimulationTest, StepsThatCannotBeCountedAreAnError) {
  Bench bench(1);
  for (int i = 0; i < 9; ++i)
    bench.addRun(0, 1'000'000'000'000'000'000);
  EXPECT_EQ(bench.run().slack, Times(9, 0));
  bench.addRun(0, 1'000'000'000'000'000'000);
  EXPECT_EQ(getError(bench.workload),
            "the step takes longer than 9223372 s, beyond which times are not "
            "counted; each time, f0 takes 1000000.0 s");
}

// Each way is nearly as long as can be counted, and they lie side by side.
TEST(SimulationTest, LongLatenciesMayOverlap) {
  Bench bench(2);
  uint32_t result = bench.addResult(bench.addRun(0, 1));
  for (int i = 0; i < 4; ++i) {
    bench.addTransfer(0, 1, 1, 5'000'000'000'000'000'000, result);
    bench.workload.activities.back().name = "t";
  }
  Simulation found = bench.run();
  EXPECT_EQ(found.makespan, 5'000'000'000'000'000'005);
  std::string text;
  llvm::raw_string_ostream os(text);
  printTable(bench.workload, found, os);
  EXPECT_NE(text.find("9223372.0 s"), std::string::npos) << text;
}

// m0 runs f0 before f1, m1 f2 before f3; f0 needs f3, and f2 needs f1.
TEST(SimulationTest, DeadlocksNameTheCycle) {
  Bench bench(2);
  uint32_t x1 = bench.workload.addValue(1, 1, 0);
  uint32_t x3 = bench.workload.addValue(0, 4, 0);
  bench.addRun(0, 1, x3);
  bench.addRun(0, 1);
  bench.addTransfer(0, 1, 1, 0, x1);
  bench.workload.values[x1].mesh = 0;
  uint32_t moved = bench.workload.addValue(1, 2, 0);
  bench.addRun(1, 1, moved);
  bench.addRun(1, 1);
  EXPECT_EQ(getError(bench.workload),
            "deadlock: mesh m0 waits at f0 for f4 on mesh m1; "
            "mesh m1 waits at f3 for f1 on mesh m0");
}

// The thread waits for f0, which waits for f2, which it has not issued.
TEST(SimulationTest, DelaysTakePartInDeadlocks) {
  Bench bench(2);
  uint32_t f0 = bench.addRun(0, 1);
  uint32_t t = bench.addTransfer(0, 1, 1, 0, bench.addResult(f0));
  uint32_t g0 = bench.addRun(1, 1, bench.addResult(t));
  bench.workload.after = {kNoItem, g0, kNoItem};
  EXPECT_NE(getError(bench.workload).find("deadlock: "), std::string::npos);
}

TEST(SimulationTest, AQueueThatIsTooShortIsADeadlock) {
  Bench bench(2);
  uint32_t x = bench.workload.addValue(0, 2, 0);
  bench.addRun(0, 1, x);
  bench.addRun(0, 1);
  bench.addRun(1, 1);
  bench.workload.issueOrder = {0, 1, 2};
  bench.workload.depth = 1;
  EXPECT_EQ(getError(bench.workload),
            "deadlock: mesh m0 waits at f0 for f2 on mesh m1; "
            "mesh m1 waits at f2 for f0 on mesh m0");
  bench.workload.depth = 2;
  EXPECT_EQ(bench.run().makespan, 3);
}
