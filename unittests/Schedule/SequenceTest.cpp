//===- SequenceTest.cpp - Schedules over chunks of sequences --------------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

#include "ScheduleTest.h"
#include "llvm/Support/FormatVariadic.h"
#include "gtest/gtest.h"
#include <map>
#include <random>

using namespace meshwright;

namespace {
/// Plans of random shapes, of all schedules that know sequences in chunks.
template <typename TestT> void forEachSequencePlan(TestT test) {
  std::mt19937 random(5);
  unsigned numPlans = 0;
  for (const Schedule *schedule : getSchedules()) {
    if (!schedule->takesSequenceChunks)
      continue;
    for (unsigned trial = 0; trial < 80; ++trial) {
      PlanShape shape;
      shape.meshes = 1 + random() % 8;
      shape.sequenceChunks = 2 + random() % 9;
      shape.microbatches = shape.sequenceChunks * (1 + random() % 9);
      shape.chunks = schedule->usualChunks == 1 ? 1 : 2 + random() % 3;
      SCOPED_TRACE(
          llvm::formatv("{0} meshes={1} units={2} stages={3} chunks={4}",
                        schedule->name, shape.meshes, shape.microbatches,
                        shape.chunks, shape.sequenceChunks)
              .str());
      auto plan = schedule->makePlan(shape);
      if (!plan) {
        EXPECT_NE(llvm::toString(plan.takeError()).find("equal rounds"),
                  std::string::npos);
        continue;
      }
      test(*schedule, shape, *plan);
      ++numPlans;
    }
  }
  EXPECT_GT(numPlans, 120u);
}
} // namespace

TEST(SequenceTest, ChunksGoForwardInOrderAndBackInReverse) {
  Plan plan = llvm::cantFail(findSchedule("Seq1F1B")->makePlan({2, 6, 1, 3}));
  EXPECT_EQ(plan.sequenceChunks, 3);
  EXPECT_EQ(toCsv(plan), "0F0,0F1,0F2,0F3,0B2,0F4,0B1,0F5,0B0,0B5,0B4,0B3\n"
                         "1F0,1F1,1F2,1B2,1F3,1B1,1F4,1B0,1F5,1B5,1B4,1B3\n");
  plan = llvm::cantFail(findSchedule("SlimPipe")->makePlan({2, 4, 2, 2}));
  EXPECT_EQ(
      toCsv(plan),
      "0F0,0F1,2F0,2F1,0F2,0F3,2B1,2F2,2B0,2F3,0B1,0B0,2B3,2B2,0B3,0B2\n"
      "1F0,1F1,3F0,3F1,3B1,1F2,3B0,1F3,1B1,3F2,1B0,3F3,3B3,3B2,1B3,1B2\n");
}

// Each unit once forward and once back, chunks in their order, and no mesh waits
// forever whatever actions cost.
TEST(SequenceTest, PlansAreCompleteInOrderAndRun) {
  std::mt19937 random(6);
  forEachSequencePlan([&](const Schedule &, const PlanShape &shape,
                          const Plan &plan) {
    int64_t K = shape.sequenceChunks;
    size_t numActions = 0;
    for (const ActionList &list : plan.meshes) {
      std::map<std::pair<int64_t, int64_t>, int64_t> forward, backward;
      for (const Action &action : list) {
        bool isForward = action.kind == ActionKind::Forward;
        std::pair key(action.stage, action.microbatch / K);
        int64_t &done = (isForward ? forward : backward)[key];
        int64_t chunk = action.microbatch % K;
        EXPECT_EQ(chunk, isForward ? done : K - 1 - done);
        if (!isForward)
          EXPECT_EQ(forward[key], K);
        ++done;
        ++numActions;
      }
    }
    EXPECT_EQ(numActions, static_cast<size_t>(2 * shape.meshes * shape.chunks *
                                              shape.microbatches));
    ActionCosts costs;
    costs.forward = 1 + random() % 5;
    costs.backward = 1 + random() % 9;
    llvm::cantFail(
        simulatePlan(plan, {costs, {}, static_cast<int64_t>(random() % 4)}));
  });
}

TEST(SequenceTest, LiveChunksAreAsPublished) {
  forEachSequencePlan(
      [](const Schedule &schedule, const PlanShape &shape, const Plan &plan) {
        int64_t K = shape.sequenceChunks, P = shape.meshes, v = shape.chunks;
        int64_t all = shape.microbatches * v;
        for (int64_t mesh = 0; mesh < P; ++mesh) {
          int64_t live = countPeakLive(plan.meshes[mesh]).untilWeight;
          if (schedule.name == "Seq1F1B")
            EXPECT_EQ(live, std::min(all, P - mesh + K - 1));
          else if (K >= P)
            EXPECT_EQ(live, std::min(all, v * K + 2 * (P - 1 - mesh)));
        }
      });
}

TEST(SequenceTest, OneChunkIsThePlainSchedule) {
  for (auto [name, plain, chunks] :
       {std::tuple("Seq1F1B", "1F1B", 1),
        std::tuple("SlimPipe", "Interleaved1F1B", 2)}) {
    PlanShape shape{4, 8, chunks};
    EXPECT_EQ(toCsv(llvm::cantFail(findSchedule(name)->makePlan(shape))),
              toCsv(llvm::cantFail(findSchedule(plain)->makePlan(shape))));
  }
}

TEST(SequenceTest, OtherChunksAreRefused) {
  auto refuse = [](llvm::StringRef name, PlanShape shape) {
    auto plan = findSchedule(name)->makePlan(shape);
    return plan ? "no error" : llvm::toString(plan.takeError());
  };
  EXPECT_EQ(
      refuse("Seq1F1B", {2, 10, 1, 4}),
      "schedule Seq1F1B has 4 chunks of each microbatch, but there are 10 "
      "units, which is not a multiple; call each chunk, with the counter "
      "microbatch * 4 + chunk");
  EXPECT_EQ(refuse("SlimPipe", {4, 10, 2, 2}),
            "schedule SlimPipe: 5 microbatches cannot be divided into 2 equal "
            "rounds over "
            "4 meshes; take 4 or 6 microbatches");
  EXPECT_EQ(refuse("1F1B", {2, 8, 1, 4}),
            "schedule 1F1B cannot have sequences in 4 chunks; take Seq1F1B or "
            "SlimPipe, with at least one chunk");
  EXPECT_EQ(
      refuse("SlimPipe", {2, 8, 2, 0}),
      "schedule SlimPipe cannot have sequences in 0 chunks; take Seq1F1B or "
      "SlimPipe, with at least one chunk");
}

TEST(SequenceTest, NamesSayTheChunks) {
  auto named = llvm::cantFail(parseScheduleName("builtin:seq1f1b:4"));
  EXPECT_EQ(named.schedule->name, "Seq1F1B");
  EXPECT_EQ(named.sequenceChunks, 4);
  EXPECT_EQ(llvm::cantFail(parseScheduleName("builtin:1F1B")).sequenceChunks,
            1);
  for (const char *text : {"Seq1F1B:", "Seq1F1B:x", "Seq1F1B:-2", "Seq1F1B:0",
                           "1F1B:2", ":2", "Seq1F1B:99999999999999999999"}) {
    auto refused = parseScheduleName(text);
    EXPECT_FALSE(bool(refused)) << text;
    llvm::consumeError(refused.takeError());
  }
}

// A forward and the backward before it are of different units, so that their
// collectives need not wait for each other.
TEST(PlanTest, MoreWarmUpKeepsNeighboursApart) {
  PlanShape shape{4, 8, 2};
  Plan plan = llvm::cantFail(findSchedule("KimiK2")->makePlan(shape));
  Plan usual = llvm::cantFail(findSchedule("Interleaved1F1B")->makePlan(shape));
  Plan pairs =
      llvm::cantFail(findSchedule("CombinedInterleaved1F1B")->makePlan(shape));
  for (auto [mesh, list] : llvm::enumerate(plan.meshes)) {
    EXPECT_EQ(countPeakLive(list).untilWeight,
              countPeakLive(usual.meshes[mesh]).untilWeight + 1);
    for (Action &action : pairs.meshes[mesh])
      action.joinsNext = false;
    EXPECT_EQ(list, pairs.meshes[mesh]);
  }
}
