//===- CutSearchTest.cpp --------------------------------------------------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

#include "meshwright/Planning/CutSearch.h"
#include "gtest/gtest.h"
#include <functional>
#include <limits>
#include <random>

using namespace meshwright;

namespace {
struct CutInstance {
  std::vector<double> layers, borders;
  size_t stages = 1;
  static constexpr double never = std::numeric_limits<double>::infinity();
  double most = never;
  mutable size_t numMeasured = 0;

  std::optional<double> measure(size_t stage, size_t begin, size_t end) const {
    double sum = 0;
    for (size_t i = begin; i < end; ++i)
      sum += layers[i];
    // Later stages have more room.
    if (sum > most * double(stage + 1))
      return std::nullopt;
    return sum;
  }

  std::vector<size_t> solve() const {
    return findCuts(
        layers.size(), stages,
        [&](size_t stage, size_t begin, size_t end) -> StageMeasure {
          ++numMeasured;
          std::optional<double> cost = measure(stage, begin, end);
          return {cost, cost.value_or(never)};
        },
        [&](size_t end) { return borders[end]; });
  }

  /// The costliest stage, and the sum of the borders; none if it may not be.
  std::optional<std::pair<double, double>>
  judge(const std::vector<size_t> &ends) const {
    double costliest = 0, border = 0;
    for (size_t stage = 0, begin = 0; stage < ends.size(); ++stage) {
      std::optional<double> cost = measure(stage, begin, ends[stage]);
      if (!cost)
        return std::nullopt;
      costliest = std::max(costliest, *cost);
      begin = ends[stage];
      if (begin < layers.size())
        border += borders[begin];
    }
    return std::pair(costliest, border);
  }

  /// The best of all cuts there are.
  std::optional<std::pair<double, double>> tryAll() const {
    std::optional<std::pair<double, double>> best;
    std::vector<size_t> ends;
    std::function<void(size_t)> extend = [&](size_t begin) {
      if (ends.size() + 1 == stages) {
        ends.push_back(layers.size());
        if (auto value = judge(ends); value && (!best || *value < *best))
          best = value;
        ends.pop_back();
        return;
      }
      for (size_t end = begin + 1; end < layers.size(); ++end) {
        ends.push_back(end);
        extend(end);
        ends.pop_back();
      }
    };
    extend(0);
    return best;
  }
};
} // namespace

TEST(CutSearchTest, IsAsGoodAsTheBestOfAllCuts) {
  std::mt19937 random(7);
  auto draw = [&](int most) { return double(1 + random() % most); };
  unsigned impossible = 0;
  for (int trial = 0; trial < 300; ++trial) {
    CutInstance instance;
    size_t layers = 1 + random() % 8;
    for (size_t i = 0; i < layers; ++i)
      instance.layers.push_back(draw(9));
    for (size_t i = 0; i <= layers; ++i)
      instance.borders.push_back(draw(5));
    instance.stages = 1 + random() % layers;
    if (trial % 2)
      instance.most = draw(12);
    std::vector<size_t> ends = instance.solve();
    std::optional<std::pair<double, double>> best = instance.tryAll();
    ASSERT_EQ(ends.empty(), !best) << trial;
    impossible += !best;
    if (best)
      EXPECT_EQ(instance.judge(ends), best) << trial;
  }
  EXPECT_GT(impossible, 10u);
  EXPECT_LT(impossible, 150u);
}

// Of a stage, each end goes with begins to about twice an even share.
TEST(CutSearchTest, LeavesOutStagesThatCostTooMuch) {
  CutInstance instance;
  instance.layers.assign(256, 1);
  instance.borders.assign(257, 0);
  instance.stages = 32;
  EXPECT_EQ(instance.solve().front(), 8u);
  EXPECT_LT(instance.numMeasured, size_t(32 * 256 * 256 / 10));
}

TEST(CutSearchTest, HasNoCutsForMoreStagesThanLayers) {
  CutInstance instance;
  instance.layers = {1, 2};
  instance.borders = {0, 0, 0};
  instance.stages = 3;
  EXPECT_TRUE(instance.solve().empty());
}
