//===- StepSimulationTest.cpp ---------------------------------------------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

#include "meshwright/Planning/StepSimulation.h"
#include "meshwright/Schedule/Timeline.h"
#include "gtest/gtest.h"

using namespace meshwright;

/// Stages that keep one byte of each microbatch, and nothing else.
TEST(StepSimulationTest, CountsWhatTheTimelineCounts) {
  constexpr int64_t kMeshes = 4;
  Device device = llvm::cantFail(findDevice("h100"));
  Layers layers = llvm::cantFail(parseLayers(R"({"layers": [
    {"name": "l", "repeat": 8, "flops": 1e12, "activation_bytes": 0,
     "residual_bytes": 1}]})"));
  StageCosts costs(layers, device, {1, 1}, 1, false);
  for (llvm::StringRef name :
       {"1F1B", "GPipe", "Interleaved1F1B", "ZeroBubbleV", "ZeroBubbleH1"}) {
    const Schedule *schedule = findSchedule(name);
    ASSERT_TRUE(schedule) << name.str();
    Layout layout;
    layout.meshes = kMeshes;
    layout.chunks = schedule->usualChunks;
    PlanShape shape{kMeshes, /*microbatches=*/8, layout.chunks};
    Plan plan = llvm::cantFail(schedule->makePlan(shape));
    int64_t stages = shape.countStages();
    for (int64_t stage = 0; stage < stages; ++stage) {
      layout.ends.push_back(8 * (stage + 1) / stages);
      layout.placement.push_back(
          placeStage(schedule->placement, kMeshes, stage));
    }
    measureMemory(costs, plan, layout);
    int64_t most = 0;
    for (const ActionList &list : plan.meshes)
      most = std::max(most, countPeakLive(list).untilWeight);
    EXPECT_EQ(layout.peakBytes, most * (8 / stages)) << name.str();
  }
}
