//===- WindowHitsTest.cpp -------------------------------------------------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// The law of window hits: they are what counting them one by one gives.
//
//===----------------------------------------------------------------------===//

#include "meshwright/Cost/WindowHits.h"
#include "llvm/Support/FormatVariadic.h"
#include "gtest/gtest.h"
#include <limits>
#include <random>

using namespace meshwright;

static double countOneByOne(const WindowDimension &w) {
  double hits = 0;
  for (int64_t k = 0; k < w.kernel; ++k)
    for (int64_t o = 0; o < w.output; ++o) {
      int64_t at = o * w.stride - w.padLow + k * w.rhsDilation;
      hits +=
          at >= 0 && at % w.lhsDilation == 0 && at / w.lhsDilation < w.input;
    }
  return hits;
}

TEST(WindowHitsTest, EqualsCountingOneByOne) {
  std::mt19937 random(7);
  auto pick = [&](int64_t least, int64_t most) {
    return std::uniform_int_distribution<int64_t>(least, most)(random);
  };
  for (unsigned trial = 0; trial < 20000; ++trial) {
    int64_t most = trial % 2 ? 6 : 40;
    WindowDimension w;
    w.input = pick(0, most);
    w.kernel = pick(0, most);
    w.output = pick(0, most);
    w.stride = pick(1, most);
    w.padLow = pick(-most, most);
    w.lhsDilation = pick(1, most);
    w.rhsDilation = pick(1, most);
    ASSERT_EQ(countWindowHits(w), countOneByOne(w))
        << llvm::formatv("input {0} kernel {1} output {2} stride {3} pad {4} "
                         "dilations {5}, {6}",
                         w.input, w.kernel, w.output, w.stride, w.padLow,
                         w.lhsDilation, w.rhsDilation)
               .str();
  }
}

TEST(WindowHitsTest, TakesNoTimeForLargeWindows) {
  // Every output position sees the whole kernel.
  EXPECT_EQ(countWindowHits({1999999, 1000000, 1000000}), 1e12);
  // Half of the kernel is in the padding, on average.
  EXPECT_EQ(countWindowHits({1000000000, 1000000000, 1000000000, 1, 999999999}),
            500000000500000000.);
  // Every third position is real.
  EXPECT_EQ(countWindowHits({1000000000, 3, 2000000000, 1, 0, 3}), 2e9);
}

TEST(WindowHitsTest, TakesAllPairsWhereSizesAreTooLarge) {
  EXPECT_EQ(countWindowHits({int64_t(1) << 62, int64_t(1) << 61, 1}),
            double(int64_t(1) << 61));
  EXPECT_EQ(countWindowHits({10, 3, 7, 1, std::numeric_limits<int64_t>::min()}),
            21);
}
