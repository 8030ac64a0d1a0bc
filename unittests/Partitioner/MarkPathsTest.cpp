//===- MarkPathsTest.cpp --------------------------------------------------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

#include "meshwright/Partitioner/Explain/MarkPaths.h"
#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/MLIRContext.h"
#include "gtest/gtest.h"

using namespace mlir;
using namespace meshwright;

namespace {
class MarkPathsTest : public testing::Test {
protected:
  Attribute mark(unsigned number) {
    return IntegerAttr::get(IntegerType::get(&context, 64), number);
  }

  Location plain(unsigned line) {
    return FileLineColLoc::get(&context, "f", line, 1);
  }

  Location marked(unsigned number) {
    return FusedLoc::get({plain(number)}, mark(number), &context);
  }

  static Location called(Location callee, Location caller) {
    return CallSiteLoc::get(callee, caller);
  }

  MLIRContext context;
  MarkPaths paths;
};
} // namespace

TEST_F(MarkPathsTest, KeepsOnePathForEachMarkBelowAnother) {
  MarkPath *call = paths.get(nullptr, mark(1), true);
  EXPECT_EQ(call, paths.get(nullptr, mark(1), true));
  MarkPath *op = paths.get(call, mark(2), false);
  EXPECT_NE(op, paths.get(nullptr, mark(2), false));
  EXPECT_EQ(paths.getEndingWith(mark(2)).size(), 2u);
  EXPECT_TRUE(paths.getEndingWith(mark(3)).empty());
}

TEST_F(MarkPathsTest, FindsAMarkWhereverALocationHasIt) {
  const MarkPath *op = paths.get(nullptr, mark(1), false);
  MarkSearch search(paths);
  Location name = NameLoc::get(StringAttr::get(&context, "n"), marked(1));
  Location fused = FusedLoc::get(&context, {plain(7), marked(1)});
  Location locations[] = {marked(1), name, fused, called(plain(2), marked(1)),
                          called(fused, plain(2))};
  for (Location location : locations)
    EXPECT_EQ(search.findEnds(location), ArrayRef(op));
  EXPECT_TRUE(search.findEnds(plain(1)).empty());
  EXPECT_TRUE(search.findEnds(marked(2)).empty());
}

TEST_F(MarkPathsTest, AnOpIsMeantInTheCallsOfItsPathOnly) {
  MarkPath *outer = paths.get(nullptr, mark(1), true);
  MarkPath *inner = paths.get(outer, mark(2), true);
  const MarkPath *op = paths.get(inner, mark(3), false);
  MarkSearch search(paths);
  Location meant = called(marked(3), called(marked(2), marked(1)));
  EXPECT_EQ(search.findEnds(meant), ArrayRef(op));
  EXPECT_TRUE(search.has(meant, outer) && search.has(meant, inner));
  // The other way of nesting the same stack, and with more around it.
  EXPECT_TRUE(search.has(called(called(marked(3), marked(2)), marked(1)), op));
  EXPECT_TRUE(search.has(called(meant, plain(9)), op));
  EXPECT_TRUE(search.has(FusedLoc::get(&context, {plain(9), meant}), op));

  for (Location other :
       {marked(3), called(marked(3), marked(2)), called(marked(3), marked(1)),
        called(marked(3), called(marked(2), plain(1)))})
    EXPECT_FALSE(search.has(other, op));
}

TEST_F(MarkPathsTest, TellsWhatMayStandForAValueThatIsGone) {
  MarkPath *call = paths.get(nullptr, mark(1), true);
  paths.get(call, mark(2), true)->isReplaceable = true;
  MarkSearch search(paths);
  EXPECT_FALSE(search.hasReplaceable(called(plain(3), marked(1))));
  EXPECT_FALSE(search.hasReplaceable(called(plain(3), marked(2))));
  EXPECT_TRUE(
      search.hasReplaceable(called(plain(3), called(marked(2), marked(1)))));
}

/// Calls in calls, each with an op beside the call that it makes.
TEST_F(MarkPathsTest, LooksAtEachCallOfADeepStackOnce) {
  auto countSteps = [&](unsigned depth) {
    MarkPaths paths;
    const MarkPath *outer = nullptr;
    for (unsigned call = 0; call < depth; ++call)
      outer = paths.get(outer, mark(call), true);
    const MarkPath *last = paths.get(outer, mark(depth), false);

    MarkSearch search(paths);
    Location stack = marked(0);
    for (unsigned call = 1; call < depth; ++call) {
      EXPECT_TRUE(search.findEnds(called(plain(call), stack)).empty());
      EXPECT_FALSE(search.hasReplaceable(called(plain(call), stack)));
      stack = called(marked(call), stack);
    }
    EXPECT_EQ(search.findEnds(called(marked(depth), stack)), ArrayRef(last));
    return search.getNumSteps();
  };
  size_t few = countSteps(100), many = countSteps(1000);
  EXPECT_GT(few, 100u);
  EXPECT_LT(many, 11 * few);
}
