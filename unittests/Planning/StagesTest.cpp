//===- StagesTest.cpp -----------------------------------------------------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

#include "meshwright/Planning/Stages.h"
#include "gtest/gtest.h"

using namespace meshwright;

static Layers getLayers() {
  return llvm::cantFail(parseLayers(R"({"batch": 32, "layers": [
    {"name": "block", "repeat": 4, "flops": 1e12, "parameter_bytes": 1e9,
     "activation_bytes": 1e6, "residual_bytes": 1e7}]})"));
}

TEST(StagesTest, IsBoundByOperations) {
  Device device = llvm::cantFail(findDevice("h100"));
  StageCosts costs(getLayers(), device, {2, 4}, 8, false);
  StageCost two = costs.get(1, 3);
  // Eight examples over two devices, each layer over four.
  double compute = 4 * 1e12 / (4 * 989e12 * 0.75) + 4e-6;
  double reduce = 2 * (4e6 * 3 / (4 * 450e9 * 0.85) + 5e-6);
  EXPECT_NEAR(two.forward, 2 * (compute + 2 * reduce), 1e-12);
  EXPECT_NEAR(two.input, two.forward, 1e-12);
  EXPECT_NEAR(two.weight, 2 * compute, 1e-12);
  EXPECT_NEAR(two.reduces, 8 * reduce, 1e-12);
  EXPECT_EQ(two.fixedBytes, 2 * 8 * 1e9 / 4);
  EXPECT_EQ(two.keptBytes, 2 * 1e7 * 4 / 4);
  double gradients = 2 * (1e9 / 4 * 1 / (2 * 450e9 * 0.85) + 5e-6);
  double optimizer = 2 * 8 * 1e9 / 4 / (3.35e12 * 0.85);
  EXPECT_NEAR(two.stepEnd, 2 * (gradients + optimizer), 1e-12);
}

TEST(StagesTest, ComputesAgainInsteadOfKeeping) {
  Device device = llvm::cantFail(findDevice("h100"));
  StageCosts plain(getLayers(), device, {1, 1}, 8, false);
  StageCosts again(getLayers(), device, {1, 1}, 8, true);
  StageCost kept = plain.get(1, 4), computed = again.get(1, 4);
  EXPECT_NEAR(computed.backward, kept.backward + kept.forward, 1e-12);
  EXPECT_EQ(computed.keptBytes, 8e6);
  EXPECT_EQ(computed.residualBytes, kept.keptBytes);
  EXPECT_EQ(again.get(0, 2).keptBytes, 0);
}
