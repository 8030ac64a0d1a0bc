//===- CustomCostTest.cpp -------------------------------------------------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

#include "meshwright/Cost/CustomCost.h"
#include "gtest/gtest.h"

using namespace meshwright;

static std::string getCustomCostError(const std::string &text) {
  auto costs = parseCustomCosts({text});
  return costs ? "" : llvm::toString(costs.takeError());
}

TEST(CustomCostTest, BindsLettersInOrderOfAppearance) {
  CustomCosts costs;
  ASSERT_FALSE(addCustomCost("flash_attention=flops:4*b*h*t*t*d", costs));
  const CustomCost &cost = costs.at("flash_attention");
  EXPECT_EQ(cost.dimensions, (std::vector<std::string>{"b", "h", "t", "d"}));
  EXPECT_EQ(cost.flops->evaluate({2, 3, 5, 7}), 4. * 2 * 3 * 5 * 5 * 7);
  EXPECT_FALSE(cost.bytes);
}

TEST(CustomCostTest, BindsNamesAsThePatternSays) {
  CustomCosts costs;
  ASSERT_FALSE(addCustomCost(
      "f (b, t, h, d) = flops: (1 + t/2) * h - 3 , bytes: 2*b*d", costs));
  const CustomCost &cost = costs.at("f");
  EXPECT_EQ(cost.flops->evaluate({2, 8, 5, 7}), (1 + 8. / 2) * 5 - 3);
  EXPECT_EQ(cost.bytes->evaluate({2, 8, 5, 7}), 28);
}

TEST(CustomCostTest, ReportsWhatIsWrong) {
  EXPECT_NE(getCustomCostError("f").find("expected NAME=flops:FORMULA"),
            std::string::npos);
  EXPECT_NE(
      getCustomCostError("f=time:3").find("expected \"flops:\" or \"bytes:\""),
      std::string::npos);
  EXPECT_NE(getCustomCostError("f=flops:3*")
                .find("expected a number, the name of a "
                      "dimension or \"(\" at the end"),
            std::string::npos);
  EXPECT_NE(
      getCustomCostError("f=flops:3 b").find("expected an operator at \"b\""),
      std::string::npos);
  EXPECT_NE(getCustomCostError("f=flops:(3").find("expected \")\""),
            std::string::npos);
  EXPECT_NE(getCustomCostError("f(b,t)=flops:d")
                .find("no dimension \"d\"; there are b, t"),
            std::string::npos);
  EXPECT_NE(getCustomCostError("f(b,b)=flops:b")
                .find("duplicate dimension \"b\"; give"),
            std::string::npos);
  EXPECT_NE(getCustomCostError("f=flops:1,flops:2")
                .find("duplicate \"flops:\"; remove one of the two"),
            std::string::npos);
  EXPECT_NE(getCustomCostError("=flops:1").find("name of a custom call"),
            std::string::npos);
  EXPECT_NE(
      getCustomCostError("f=flops:" + std::string(200, '(')).find("fewer"),
      std::string::npos);
}
