//===- MeshOrderTest.cpp --------------------------------------------------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

#include "meshwright/Import/Place/MeshOrder.h"
#include "gtest/gtest.h"

using namespace mlir::mpmd;

TEST(MeshOrderTest, NumbersAtTheEndDecide) {
  EXPECT_TRUE(meshBefore("mesh2", "mesh10"));
  EXPECT_FALSE(meshBefore("mesh10", "mesh2"));
  EXPECT_TRUE(meshBefore("z1", "a2"));
  EXPECT_TRUE(meshBefore("7", "mesh8"));
}

TEST(MeshOrderTest, EqualNumbersAreNotBefore) {
  EXPECT_FALSE(meshBefore("a1", "b1"));
  EXPECT_FALSE(meshBefore("b1", "a1"));
  EXPECT_FALSE(meshBefore("m007", "m7"));
  EXPECT_FALSE(meshBefore("m7", "m007"));
}

TEST(MeshOrderTest, StringsDecideIfANumberIsMissing) {
  EXPECT_TRUE(meshBefore("a", "b"));
  EXPECT_FALSE(meshBefore("b", "a"));
  EXPECT_TRUE(meshBefore("m", "m1"));
  EXPECT_TRUE(meshBefore("m10", "m2/cpu"));
  EXPECT_FALSE(meshBefore("", ""));
}

TEST(MeshOrderTest, NumbersMayBeLongerThanAnyInteger) {
  EXPECT_TRUE(meshBefore("m99999999999999999999", "m100000000000000000000"));
  EXPECT_TRUE(meshBefore("m0", "m1"));
  EXPECT_TRUE(meshBefore("m000", "m1"));
}

// Only names of one kind are ordered as a whole.
TEST(MeshOrderTest, IsIrreflexiveAndAsymmetric) {
  for (llvm::StringRef a : {"m1", "m2", "m10", "a", "b", "", "x/cpu"})
    for (llvm::StringRef b : {"m1", "m2", "m10", "a", "b", "", "x/cpu"}) {
      SCOPED_TRACE(a.str() + " and " + b.str());
      EXPECT_FALSE(meshBefore(a, b) && meshBefore(b, a));
    }
}
