//===- NearestNameTest.cpp ------------------------------------------------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

#include "meshwright/Text/NearestName.h"
#include "gtest/gtest.h"

using namespace meshwright;

TEST(NearestNameTest, IsASlipAway) {
  EXPECT_EQ(findNearest("mesh3", {"m", "mesh1x", "Mesh2"}), "Mesh2");
  EXPECT_EQ(findNearest("mesh", {"encoder"}), "");
}

// A distance would take a minute.
TEST(NearestNameTest, NobodyTypesLongNames) {
  std::string name(200'000, 'n'), other = name + "m";
  EXPECT_EQ(findNearest(name, {other, "n"}), "");
}
