//===- AxisAlgebraTest.cpp - Laws of sub-axes -----------------------------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

#include "meshwright/Dialect/Sdy/AxisAlgebra.h"
#include "mlir/IR/MLIRContext.h"
#include "gtest/gtest.h"

using namespace mlir;
using namespace mlir::sdy;

namespace {

/// All axes and sub-axes of a mesh with an axis of 12 and one of 2.
class AxisAlgebraTest : public testing::Test {
protected:
  AxisAlgebraTest() {
    context.loadDialect<SdyDialect>();
    mesh = MeshAttr::get(&context, {MeshAxisAttr::get(&context, "x", kSize),
                                    MeshAxisAttr::get(&context, "y", 2)});
    for (int64_t pre = 1; pre <= kSize; ++pre)
      for (int64_t size = 2; size < kSize; ++size)
        if (kSize % (pre * size) == 0)
          axes.push_back(AxisRefAttr::get(&context, "x", pre, size));
    axes.push_back(AxisRefAttr::get(&context, "x"));
    axes.push_back(AxisRefAttr::get(&context, "y"));
  }

  /// Calls back with every pair, and names it if an expectation fails.
  void forEachPair(llvm::function_ref<void(AxisRefAttr, AxisRefAttr)> check) {
    for (AxisRefAttr a : axes)
      for (AxisRefAttr b : axes) {
        SCOPED_TRACE(a.toString() + " and " + b.toString());
        check(a, b);
      }
  }

  int64_t endOf(AxisRefAttr axis) {
    return axis.getPreSize() * axis.getSize(mesh);
  }

  static constexpr int64_t kSize = 12;
  MLIRContext context;
  MeshAttr mesh;
  SmallVector<AxisRefAttr> axes;
};

TEST_F(AxisAlgebraTest, MeshOrderIsTotal) {
  forEachPair([&](AxisRefAttr a, AxisRefAttr b) {
    EXPECT_EQ(isBefore(a, b, mesh) + isBefore(b, a, mesh), a != b);
    for (AxisRefAttr c : axes)
      if (isBefore(a, b, mesh) && isBefore(b, c, mesh))
        EXPECT_TRUE(isBefore(a, c, mesh)) << c.toString();
  });
}

TEST_F(AxisAlgebraTest, FullAxisSortsBehindItsPrefixesOnly) {
  auto full = AxisRefAttr::get(&context, "x");
  for (AxisRefAttr axis : axes)
    if (axis.getName() == "x" && axis.isSubAxis()) {
      EXPECT_EQ(isBefore(axis, full, mesh), axis.getPreSize() == 1);
    }
}

TEST_F(AxisAlgebraTest, ContainmentIsAPartialOrderThatImpliesOverlap) {
  forEachPair([&](AxisRefAttr a, AxisRefAttr b) {
    EXPECT_TRUE(contains(a, a));
    if (contains(a, b)) {
      EXPECT_TRUE(overlaps(a, b));
    }
    if (contains(a, b) && contains(b, a)) {
      EXPECT_EQ(a, b);
    }
    EXPECT_EQ(strictlyContains(a, b), contains(a, b) && a != b);
  });
}

TEST_F(AxisAlgebraTest, PrefixIsContainedFromTheStart) {
  forEachPair([&](AxisRefAttr a, AxisRefAttr b) {
    EXPECT_EQ(isPrefixOf(a, b),
              contains(b, a) && a.getPreSize() == b.getPreSize());
    if (AxisRefAttr common = getCommonPrefix(a, b)) {
      EXPECT_TRUE(isPrefixOf(common, a));
      EXPECT_TRUE(isPrefixOf(common, b));
    }
  });
}

TEST_F(AxisAlgebraTest, OverlapIsSymmetricIntersectionOfRanges) {
  forEachPair([&](AxisRefAttr a, AxisRefAttr b) {
    EXPECT_EQ(overlaps(a, b), overlaps(b, a));
    bool intersect = a.getPreSize() < endOf(b) && b.getPreSize() < endOf(a);
    EXPECT_EQ(overlaps(a, b), a.getName() == b.getName() && intersect);
  });
}

TEST_F(AxisAlgebraTest, CoexistenceIsSymmetricAndHoldsForContainmentByDivisor) {
  forEachPair([&](AxisRefAttr a, AxisRefAttr b) {
    EXPECT_EQ(canCoexist(a, b), canCoexist(b, a));
    EXPECT_TRUE(canCoexist(a, a));
    if (a.isSubAxis() && isPrefixOf(a, b)) {
      EXPECT_EQ(canCoexist(a, b), endOf(b) % endOf(a) == 0);
    }
  });
}

TEST_F(AxisAlgebraTest, PrefixWithoutOverlapIsALongestFreePrefix) {
  forEachPair([&](AxisRefAttr a, AxisRefAttr b) {
    AxisRefAttr prefix = getPrefixWithoutOverlap(a, b);
    if (!prefix) {
      EXPECT_TRUE(!canCoexist(a, b) ||
                  (overlaps(a, b) && a.getPreSize() >= b.getPreSize()));
      return;
    }
    EXPECT_TRUE(isPrefixOf(prefix, a));
    EXPECT_FALSE(overlaps(prefix, b));
    if (prefix != a) {
      EXPECT_EQ(endOf(prefix), b.getPreSize());
    }
  });
}

TEST_F(AxisAlgebraTest, PrefixAndSuffixMergeToTheWhole) {
  forEachPair([&](AxisRefAttr a, AxisRefAttr prefix) {
    if (prefix == a || !isPrefixOf(prefix, a) || endOf(a) % endOf(prefix) != 0)
      return;
    AxisRefAttr suffix = getSuffixAfter(a, prefix, mesh);
    ASSERT_TRUE(suffix);
    ASSERT_TRUE(canMerge(prefix, suffix));
    EXPECT_EQ(merge(prefix, suffix, mesh), a);
    EXPECT_FALSE(overlaps(prefix, suffix));
  });
}

TEST_F(AxisAlgebraTest, MergingKeepsTheTotalSize) {
  forEachPair([&](AxisRefAttr a, AxisRefAttr b) {
    SmallVector<AxisRefAttr> list{a};
    appendOrMerge(list, b, mesh);
    EXPECT_EQ(list.size(), canMerge(a, b) ? 1u : 2u);
    EXPECT_EQ(getTotalSize(list, mesh), a.getSize(mesh) * b.getSize(mesh));
  });
}

} // namespace
