//===- ActionInputsTest.cpp - What the actions of a plan need -------------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

#include "meshwright/Schedule/ActionInputs.h"
#include "gtest/gtest.h"
#include <cstdint>
#include <utility>
#include <vector>

using namespace meshwright;

namespace {
/// Mesh and place of an action, and -1 for both if it is nowhere.
std::pair<int, int> find(const ActionInputs &inputs, const Action &action) {
  const ActionId *id = inputs.find(action);
  return id ? std::pair<int, int>(id->mesh, id->index) : std::pair(-1, -1);
}

constexpr ActionKind kForward = ActionKind::Forward;
constexpr ActionKind kBackward = ActionKind::Backward;
} // namespace

TEST(ActionInputsTest, FindsMicrobatchesWithHolesAndOutOfOrder) {
  Plan plan;
  plan.meshes = {{{0, kForward, 7},
                  {0, kForward, 2},
                  {0, kForward, 1'000'000'000'000},
                  {0, kForward, 3}}};
  ActionInputs inputs(plan);
  for (int index : {0, 1, 2, 3})
    EXPECT_EQ(find(inputs, plan.meshes[0][index]), std::pair(0, index));
  for (int64_t missing : {0, 1, 4, 6, 8})
    EXPECT_EQ(inputs.find({0, kForward, missing}), nullptr) << missing;
  EXPECT_EQ(inputs.find({1, kForward, 2}), nullptr);
  EXPECT_EQ(inputs.find({0, kBackward, 2}), nullptr);
}

TEST(ActionInputsTest, FindsTheFirstOfRepeatedActions) {
  Plan plan;
  plan.meshes = {{{0, kForward, 0}, {0, kForward, 2}},
                 {{0, kForward, 2}, {0, kForward, 1}, {0, kForward, 0}}};
  ActionInputs inputs(plan);
  EXPECT_EQ(find(inputs, {0, kForward, 0}), std::pair(0, 0));
  EXPECT_EQ(find(inputs, {0, kForward, 1}), std::pair(1, 1));
  EXPECT_EQ(find(inputs, {0, kForward, 2}), std::pair(0, 1));
}

TEST(ActionInputsTest, PassesOverStagesWithoutWork) {
  Plan plan;
  plan.meshes = {{{0, kForward, 0}, {0, kBackward, 0}},
                 {{2, kForward, 0}, {2, kBackward, 0}}};
  ActionInputs inputs(plan);
  auto list = [&](const Action &action) {
    std::vector<std::pair<int, int>> places;
    for (const ActionId *id : inputs.get(action))
      places.emplace_back(id->mesh, id->index);
    return places;
  };
  using Places = std::vector<std::pair<int, int>>;
  EXPECT_EQ(list(plan.meshes[0][0]), Places());
  EXPECT_EQ(list(plan.meshes[1][0]), Places({{0, 0}}));
  EXPECT_EQ(list(plan.meshes[1][1]), Places({{1, 0}}));
  EXPECT_EQ(list(plan.meshes[0][1]), Places({{0, 0}, {1, 1}}));
}
