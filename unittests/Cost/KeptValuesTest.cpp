//===- KeptValuesTest.cpp -------------------------------------------------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

#include "meshwright/Cost/Temporaries/KeptValues.h"
#include "meshwright/Cost/Device.h"
#include "gtest/gtest.h"

using namespace meshwright;

/// Values of 100 bytes that are there from op 0 to 1, 1 to 2, and so on.
static std::vector<KeptValue> makeChain(unsigned count) {
  std::vector<KeptValue> chain;
  for (unsigned i = 0; i < count; ++i)
    chain.push_back({100, i, i + 1});
  return chain;
}

TEST(KeptValuesTest, AddsUpWhatIsThereAtOnce) {
  KeptBytes kept = countKeptBytes(makeChain(5), {}, {}, Device());
  EXPECT_EQ(kept.bytes, 200);
  EXPECT_EQ(kept.places, 200);
  EXPECT_EQ(countKeptBytes({}, {}, {}, Device()).bytes, 0);
}

TEST(KeptValuesTest, RoundsPlacesUp) {
  Device device;
  device.alignment = 64;
  KeptBytes kept = countKeptBytes(makeChain(5), {}, {{10, 1, 1}}, device);
  EXPECT_EQ(kept.bytes, 210);
  // What a body takes has been rounded up there.
  EXPECT_EQ(kept.places, 2 * 128 + 10);
}

TEST(KeptValuesTest, KeepsOnTheChipWhatHasRoom) {
  Device device;
  device.onChip = 100;
  // Every second one finds the place of the one before the last.
  EXPECT_EQ(countKeptBytes(makeChain(5), {}, {}, device).bytes, 100);
  device.onChip = 200;
  EXPECT_EQ(countKeptBytes(makeChain(5), {}, {}, device).bytes, 0);
  device.onChip = 99;
  EXPECT_EQ(countKeptBytes(makeChain(5), {}, {}, device).bytes, 200);
}

TEST(KeptValuesTest, PutsValuesWhereResultsWillBe) {
  // There until op 6, so that every second value of the chain has a place.
  EXPECT_EQ(countKeptBytes(makeChain(5), {{100, 6}}, {}, Device()).bytes, 100);
  EXPECT_EQ(
      countKeptBytes(makeChain(5), {{100, 6}, {120, 6}}, {}, Device()).bytes,
      0);
  EXPECT_EQ(countKeptBytes(makeChain(5), {{99, 6}}, {}, Device()).bytes, 200);
  // A result that is there before, or an argument still.
  EXPECT_EQ(countKeptBytes(makeChain(1), {{100, 1}}, {}, Device()).bytes, 100);
  EXPECT_EQ(countKeptBytes(makeChain(1), {{100, 6, 1}}, {}, Device()).bytes,
            100);
}

TEST(KeptValuesTest, LetsAKernelWriteWhereItReads) {
  // Kernel 7 is of op 1 alone, or of ops 1 and 2.
  std::vector<KeptValue> values = {{100, 0, 1, 7}};
  auto count = [&](ResultPlace result) {
    return countKeptBytes(values, {result}, {}, Device()).bytes;
  };
  EXPECT_EQ(count({100, 1, 0, 7, true}), 0);
  EXPECT_EQ(count({100, 2, 0, 7, true}), 0);
  // Not if it is not elementwise, if the result is of another size or another kernel.
  EXPECT_EQ(count({100, 2, 0, 7, false}), 100);
  EXPECT_EQ(count({200, 2, 0, 7, true}), 100);
  EXPECT_EQ(count({100, 1, 0, 8, true}), 100);
  EXPECT_EQ(count({200, 2, 0, 8, false}), 0);
}

TEST(KeptValuesTest, LetsLargeValuesChooseFirst) {
  std::vector<KeptValue> values = {{10, 0, 1}, {100, 0, 1}};
  EXPECT_EQ(countKeptBytes(values, {{100, 2}}, {}, Device()).bytes, 10);
  // And leaves large results to those that need them.
  EXPECT_EQ(countKeptBytes(values, {{100, 2}, {10, 2}}, {}, Device()).bytes, 0);
}
