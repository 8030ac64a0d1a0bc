//===- JointSearchTest.cpp ------------------------------------------------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

#include "meshwright/Planning/JointSearch.h"
#include "meshwright/Planning/StagePlaces.h"
#include "gtest/gtest.h"
#include <random>

using namespace meshwright;

namespace {
/// Layers of unequal length and size on a few devices.
struct JointInstance {
  JointInstance(std::mt19937 &random, size_t layers, int64_t meshes,
                double memory) {
    inputs.device = llvm::cantFail(findDevice("h100"));
    inputs.devices = meshes;
    inputs.memory = memory;
    inputs.layers.batch = 6;
    for (size_t i = 0; i < layers; ++i) {
      Layer layer;
      layer.name = "l" + std::to_string(i);
      layer.flops = 1e12 * double(1 + random() % 5);
      layer.backwardFlops = 2 * layer.flops;
      layer.parameterBytes = 1e8;
      layer.activationBytes = 1e6;
      layer.residualBytes = 1e8 * double(1 + random() % 3);
      inputs.layers.layers.push_back(layer);
    }
    costs.emplace(inputs.layers, inputs.device, MeshSplit{1, 1}, 1, false);
    shape.meshes = meshes;
    shape.microbatches = 6;
  }

  /// As many layers on each mesh, but for the last.
  Layout getStart() const {
    Layout start = shape;
    for (int64_t mesh = 0; mesh < shape.meshes; ++mesh) {
      start.placement.push_back(mesh);
      start.ends.push_back(
          mesh + 1 == shape.meshes ? inputs.layers.layers.size() : mesh + 1);
    }
    return start;
  }

  /// Seconds in the order that is searched; none if it does not fit.
  std::optional<double> order(const StagePlaces &places) const {
    Layout layout = shape;
    layout.ends = places.ends;
    layout.placement = places.placement;
    std::optional<Plan> plan = makeMeasuredPlan(
        inputs, *costs, layout, makeUnitTimes(*costs, layout, false).costs);
    if (!plan)
      return std::nullopt;
    llvm::cantFail(simulateStep(inputs, *costs, *plan, layout));
    return layout.seconds;
  }

  /// The best of all cuts in two meshes, which take turns.
  std::optional<double> tryAll() const {
    size_t layers = inputs.layers.layers.size();
    std::optional<double> best;
    for (size_t cuts = 0; cuts < size_t(1) << (layers - 1); ++cuts)
      for (int64_t first : {0, 1}) {
        StagePlaces places;
        for (size_t end = 1; end <= layers; ++end)
          if (end == layers || (cuts >> (end - 1) & 1)) {
            places.ends.push_back(end);
            places.placement.push_back(
                (first + int64_t(places.placement.size())) % 2);
          }
        if (!normalize(places, 2, 4))
          continue;
        std::optional<double> seconds = order(places);
        if (seconds && (!best || *seconds < *best))
          best = seconds;
      }
    return best;
  }

  PlanInputs inputs;
  std::optional<StageCosts> costs;
  Layout shape;
};
} // namespace

TEST(JointSearchTest, IsNearTheBestOfAll) {
  std::mt19937 random(1);
  for (int i = 0; i < 6; ++i) {
    JointInstance instance(random, 6, 2, 80e9);
    std::optional<Layout> found =
        searchJointly(instance.inputs, *instance.costs, instance.getStart());
    std::optional<double> best = instance.tryAll();
    ASSERT_TRUE(found && best);
    EXPECT_LE(found->seconds, *best * 1.02);
    EXPECT_GE(found->seconds, *best * (1 - 1e-9));
  }
}

TEST(JointSearchTest, IsNeverWorseThanItsStartAndFits) {
  std::mt19937 random(2);
  for (int i = 0; i < 6; ++i) {
    JointInstance instance(random, 12, 3, 6e9);
    Layout start = instance.getStart();
    std::optional<double> before =
        instance.order({start.ends, start.placement});
    std::optional<Layout> found =
        searchJointly(instance.inputs, *instance.costs, start);
    ASSERT_TRUE(found);
    if (before) {
      EXPECT_LE(found->seconds, *before);
    }
    EXPECT_LE(found->peakBytes, instance.inputs.memory);
    EXPECT_EQ(found->mostLive.size(), 3u);
    std::optional<Layout> again =
        searchJointly(instance.inputs, *instance.costs, start);
    EXPECT_EQ(again->ends, found->ends);
    EXPECT_EQ(again->placement, found->placement);
    EXPECT_EQ(again->seconds, found->seconds);
  }
}

TEST(JointSearchTest, FindsNothingWhereNothingFits) {
  std::mt19937 random(3);
  JointInstance instance(random, 6, 2, 1e9);
  EXPECT_FALSE(
      searchJointly(instance.inputs, *instance.costs, instance.getStart()));
}
