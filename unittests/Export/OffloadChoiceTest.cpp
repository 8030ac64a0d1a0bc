//===- OffloadChoiceTest.cpp ----------------------------------------------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

#include "meshwright/Export/Offload/OffloadChoice.h"
#include "gtest/gtest.h"
#include <random>

using namespace mlir::mpmd;

namespace {
/// `count` forwards of a second each and their backwards, of which the first is that of
/// the last; each forward makes `values` values of a byte.
struct Pyramid {
  DeviceLoad load;
  std::vector<WaitingGroup> groups;

  explicit Pyramid(unsigned count, unsigned values = 1,
                   double secondsPerByte = 0.5) {
    load.secondsPerByte = secondsPerByte;
    for (unsigned step = 0; step < 2 * count; ++step) {
      unsigned held = step < count ? step + 1 : 2 * count - step;
      load.steps.push_back({double(step), step + 1.0, int64_t(held * values)});
    }
    for (unsigned first = 0; first + 1 < count; ++first)
      groups.push_back(
          {first, 2 * count - 1 - first, 0, std::vector<int64_t>(values, 1)});
  }
};
} // namespace

// The picture of the header.
TEST(OffloadChoiceTest, SendsWhatIsReadLast) {
  Pyramid pyramid(4);
  auto plan = chooseTrips(pyramid.load, pyramid.groups, 3);
  ASSERT_TRUE(plan);
  EXPECT_EQ(plan->peak, 3);
  ASSERT_EQ(plan->trips.size(), 1u);
  EXPECT_EQ(plan->trips[0].group, 0u);
  // It is back before the last step begins.
  EXPECT_EQ(plan->trips[0].fetchStep, 6u);
}

TEST(OffloadChoiceTest, SendsNothingThatNeedNotGo) {
  Pyramid pyramid(4);
  auto plan = chooseTrips(pyramid.load, pyramid.groups, 4);
  ASSERT_TRUE(plan);
  EXPECT_TRUE(plan->trips.empty());
  EXPECT_EQ(plan->peak, 4);
}

// Two of four values are enough.
TEST(OffloadChoiceTest, SendsAPartOfAGroup) {
  Pyramid pyramid(4, 4, 0.1);
  auto plan = chooseTrips(pyramid.load, pyramid.groups, 14);
  ASSERT_TRUE(plan);
  ASSERT_EQ(plan->trips.size(), 1u);
  EXPECT_EQ(plan->trips[0].numValues, 2u);
}

TEST(OffloadChoiceTest, RefusesWhatTheLinkDoesNotCarry) {
  // A value takes longer than all steps.
  Pyramid pyramid(4, 1, 10);
  EXPECT_FALSE(chooseTrips(pyramid.load, pyramid.groups, 3));
  EXPECT_EQ(findSmallestPeak(pyramid.load, pyramid.groups).peak, 4);
}

// What is sent to others leaves the memory when it is there.
TEST(OffloadChoiceTest, WaitsForOtherReaders) {
  Pyramid pyramid(4);
  for (WaitingGroup &group : pyramid.groups)
    group.freeFrom = 7.5;
  EXPECT_FALSE(chooseTrips(pyramid.load, pyramid.groups, 3));
}

TEST(OffloadChoiceTest, TheSmallestPeakIsABoundThatCanBeMet) {
  for (double seconds : {0.01, 0.3, 0.9, 1.5}) {
    Pyramid pyramid(12, 5, seconds / 5);
    HostPlan best = findSmallestPeak(pyramid.load, pyramid.groups);
    EXPECT_LT(best.peak, 60);
    auto again = chooseTrips(pyramid.load, pyramid.groups, best.peak);
    ASSERT_TRUE(again);
    EXPECT_EQ(again->peak, best.peak);
  }
}

namespace {
/// Runs trips as a device does, and returns the peak; fails if a step waits.
int64_t replay(const DeviceLoad &load, llvm::ArrayRef<WaitingGroup> groups,
               llvm::ArrayRef<HostTrip> trips) {
  std::vector<int64_t> held;
  for (const DeviceLoad::Step &step : load.steps)
    held.push_back(step.bytes);
  auto bytesOf = [&](const HostTrip &trip) {
    int64_t sum = 0;
    for (unsigned i = 0; i < trip.numValues; ++i)
      sum += groups[trip.group].bytes[trip.firstValue + i];
    return sum;
  };
  // First come, first served, in each direction.
  std::vector<HostTrip> leaving(trips.begin(), trips.end());
  llvm::stable_sort(leaving, [&](const HostTrip &a, const HostTrip &b) {
    return load.steps[groups[a.group].last].stop <
           load.steps[groups[b.group].last].stop;
  });
  double free = 0;
  for (const HostTrip &trip : leaving) {
    const WaitingGroup &group = groups[trip.group];
    free = std::max(free, load.steps[group.last].stop) +
           double(bytesOf(trip)) * load.secondsPerByte;
    double gone = std::max(free + load.latency, group.freeFrom);
    for (unsigned step = 0; step < trip.fetchStep; ++step)
      if (load.steps[step].start >= gone)
        held[step] -= bytesOf(trip);
  }
  std::vector<HostTrip> returning(trips.begin(), trips.end());
  llvm::stable_sort(returning, [](const HostTrip &a, const HostTrip &b) {
    return a.fetchStep < b.fetchStep;
  });
  free = 0;
  for (const HostTrip &trip : returning) {
    free = std::max(free, load.steps[trip.fetchStep].start) +
           double(bytesOf(trip)) * load.secondsPerByte;
    EXPECT_LE(free + load.latency,
              load.steps[groups[trip.group].next].start + 1e-9);
  }
  return *llvm::max_element(held);
}
} // namespace

TEST(OffloadChoiceTest, NothingWaitsAndTheBoundHolds) {
  std::mt19937 random(7);
  auto draw = [&](unsigned below) { return unsigned(random() % below); };
  unsigned numWithTrips = 0;
  for (unsigned round = 0; round < 200; ++round) {
    DeviceLoad load;
    load.secondsPerByte = (1 + draw(40)) / 20.0;
    load.latency = draw(3) / 10.0;
    unsigned numSteps = 4 + draw(24);
    double time = 0;
    for (unsigned step = 0; step < numSteps; ++step) {
      double start = time + draw(3) / 4.0;
      time = start + (1 + draw(8)) / 4.0;
      load.steps.push_back({start, time, int64_t(draw(3))});
    }
    std::vector<WaitingGroup> groups;
    for (unsigned number = draw(12); number > 0; --number) {
      unsigned last = draw(numSteps - 2);
      unsigned next = last + 2 + draw(numSteps - last - 2);
      WaitingGroup group{last, next, 0, {}};
      for (unsigned value = 1 + draw(3); value > 0; --value)
        group.bytes.push_back(value);
      for (unsigned step = last; step <= next; ++step)
        for (int64_t bytes : group.bytes)
          load.steps[step].bytes += bytes;
      groups.push_back(std::move(group));
    }
    HostPlan best = findSmallestPeak(load, groups);
    numWithTrips += !best.trips.empty();
    // Ways back that ask earlier are served earlier, but never too late.
    EXPECT_LE(replay(load, groups, best.trips), best.peak);
  }
  EXPECT_GT(numWithTrips, 50u);
}
