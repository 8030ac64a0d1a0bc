//===- VocabularyTest.cpp - Schedules with the vocabulary on all meshes ---===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

#include "meshwright/Schedule/PlanFile.h"
#include "meshwright/Schedule/Schedule.h"
#include "meshwright/Schedule/Timeline.h"
#include "gtest/gtest.h"
#include <map>

using namespace meshwright;

namespace {
Plan makePlan(const PlanShape &shape) {
  return llvm::cantFail(findSchedule("VocabParallel1F1B")->makePlan(shape));
}

/// With times in proportion: a part of the head, and one of the embedding.
PipelineCosts makeCosts(int64_t meshes, int64_t head, int64_t embedding) {
  PipelineCosts costs;
  for (auto [forward, weight] :
       {std::pair<int64_t, int64_t>(12, 12), {head, head}, {embedding, 0}})
    for (int64_t mesh = 0; mesh < meshes; ++mesh)
      costs.stages.push_back({forward, forward, weight, forward + weight});
  return costs;
}

using Intervals = std::map<std::pair<int64_t, char>, Interval>;

/// Of one microbatch, when each stage does what.
Intervals getIntervals(const Plan &plan, const Timeline &timeline,
                       int64_t microbatch) {
  Intervals found;
  for (auto [list, times] : llvm::zip_equal(plan.meshes, timeline.meshes))
    for (auto [action, interval] : llvm::zip_equal(list, times))
      if (action.microbatch == microbatch)
        found[{action.stage, getLetter(action.kind)}] = interval;
  return found;
}

std::string getVocabularyError(llvm::StringRef csv) {
  llvm::Expected<Plan> plan = parsePlan(csv);
  return plan ? "no error" : llvm::toString(plan.takeError());
}
} // namespace

// The parts meet twice: T needs S of all, the backward of the chain T of all.
TEST(VocabularyTest, PartsMeetBeforeTheirGradients) {
  constexpr int64_t P = 4;
  Plan plan = makePlan({P, 8, 3});
  Timeline timeline = llvm::cantFail(simulatePlan(plan, makeCosts(P, 5, 1)));
  for (int64_t m = 0; m < 8; ++m) {
    Intervals at = getIntervals(plan, timeline, m);
    for (int64_t i = 0; i < P; ++i) {
      EXPECT_LE((at[{2 * P + i, 'E'}].stop), (at[{0, 'F'}].start));
      EXPECT_LE((at[{P - 1, 'F'}].stop), (at[{P + i, 'S'}].start));
      EXPECT_LE((at[{P + i, 'T'}].stop), (at[{P - 1, 'B'}].start));
      EXPECT_LE((at[{0, 'B'}].stop), (at[{2 * P + i, 'G'}].start));
      for (int64_t j = 0; j < P; ++j)
        EXPECT_LE((at[{P + i, 'S'}].stop), (at[{P + j, 'T'}].start));
    }
  }
}

TEST(VocabularyTest, KeepsTwoMoreThan1F1B) {
  for (int64_t chunks : {2, 3})
    for (int64_t meshes : {1, 2, 4, 8, 16})
      for (int64_t microbatches : {1, 5, 40}) {
        Plan plan = makePlan({meshes, microbatches, chunks});
        for (int64_t mesh = 0; mesh < meshes; ++mesh)
          EXPECT_LE(countPeakLive(plan.meshes[mesh]).untilWeight,
                    std::min(microbatches, meshes - mesh + 2));
      }
}

// Once the pipeline is full, no mesh idles, whatever part the head is of a stage.
TEST(VocabularyTest, AMicrobatchTakesAsLongAsItsWork) {
  for (int64_t meshes : {2, 4, 8})
    for (int64_t head : {1, 4, 6, 12, 24}) {
      auto getMakespan = [&](int64_t microbatches) {
        Plan plan = makePlan({meshes, microbatches, 3});
        return llvm::cantFail(simulatePlan(plan, makeCosts(meshes, head, 1)))
            .makespan;
      };
      int64_t work = 3 * 12 + 3 * head + 2;
      EXPECT_EQ(getMakespan(80) - getMakespan(60), 20 * work);
    }
}

TEST(VocabularyTest, PlansThatMissPartsAreRefused) {
  EXPECT_EQ(getVocabularyError("0F0,1S0,1T0,0B0"), "no error");
  EXPECT_EQ(getVocabularyError("2E0,0F0,1S0,1T0,0B0,2G0"), "no error");
  EXPECT_EQ(
      getVocabularyError("0F0,1S0,0B0"),
      "row 1 column 2: stage 1 microbatch 0 has S; expected E and G, or S "
      "and T, of a part of the vocabulary");
  EXPECT_EQ(getVocabularyError("0F0,1T0,1S0,0B0"),
            "row 1 column 2: 1T0 is out of order: it needs 1S0, which comes in "
            "column 3");
  EXPECT_EQ(getVocabularyError("0F0,2S0,2T0,0B0\n1F0,3S0,1B0,3T0"),
            "deadlock: row 1 column 4 (rank 0) waits at 0B0 for 1B0; row 2 "
            "column 3 (rank 1) waits at 1B0 for 3T0");
}

TEST(VocabularyTest, OtherNumbersOfStagesAreRefused) {
  for (int64_t chunks : {1, 4}) {
    llvm::Expected<Plan> plan =
        findSchedule("VocabParallel1F1B")->makePlan({4, 8, chunks});
    ASSERT_FALSE(plan);
    EXPECT_EQ(
        llvm::toString(plan.takeError()),
        "schedule VocabParallel1F1B needs 2 to 3 stages on each mesh, got " +
            std::to_string(chunks));
  }
}
