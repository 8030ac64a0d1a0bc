//===- OffloadChoiceTest.cpp ----------------------------------------------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

#include "meshwright/Schedule/Search/OffloadChoice.h"
#include "gtest/gtest.h"
#include <random>

using namespace meshwright;

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
/// Runs a plan as a device does, and returns the peak; fails if a step waits for a value,
/// or is later than it may be.
int64_t replay(DeviceLoad load, llvm::ArrayRef<WaitingGroup> groups,
               const HostPlan &plan) {
  llvm::ArrayRef<HostTrip> trips = plan.trips;
  for (auto [number, start] : llvm::enumerate(plan.starts)) {
    DeviceLoad::Step &step = load.steps[number];
    EXPECT_TRUE(start <= step.start || start <= step.latest + 1e-9);
    step.stop += start - step.start;
    step.start = start;
    if (number > 0) {
      EXPECT_GE(start, load.steps[number - 1].stop - 1e-9);
    }
  }
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
    if (trip.isAwaited) {
      EXPECT_LE(gone, load.steps[trip.freedStep].start + 1e-9);
    }
    for (unsigned step = 0; step < trip.fetchStep; ++step)
      if (load.steps[step].start >= gone - 1e-9)
        held[step] -= bytesOf(trip);
  }
  std::vector<HostTrip> returning(trips.begin(), trips.end());
  llvm::stable_sort(returning, [](const HostTrip &a, const HostTrip &b) {
    return std::pair(a.fetchStep, a.fetchTime) <
           std::pair(b.fetchStep, b.fetchTime);
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
  unsigned numWithTrips = 0, numWithWaits = 0;
  for (unsigned round = 0; round < 400; ++round) {
    DeviceLoad load;
    load.secondsPerByte = (1 + draw(40)) / 20.0;
    load.latency = draw(3) / 10.0;
    unsigned numSteps = 4 + draw(24);
    double time = 0;
    for (unsigned step = 0; step < numSteps; ++step) {
      double start = time + draw(round % 2 ? 12 : 3) / 4.0;
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
    // No step may be later than lets those after it start as they do.
    if (round % 2) {
      double latest = load.steps.back().start;
      for (DeviceLoad::Step &step : llvm::reverse(load.steps)) {
        latest = std::min(latest, latest - (step.stop - step.start));
        bool isFixed = llvm::any_of(groups, [&](const WaitingGroup &group) {
          return &step == &load.steps[group.next];
        });
        step.latest = latest =
            isFixed ? step.start : std::max(step.start, latest);
      }
    }
    HostPlan best = findSmallestPeak(load, groups);
    numWithTrips += !best.trips.empty();
    numWithWaits += llvm::any_of(
        best.trips, [](const HostTrip &trip) { return trip.isAwaited; });
    // Ways back that ask earlier are served earlier, but never too late.
    EXPECT_LE(replay(load, groups, best), best.peak);
  }
  EXPECT_GT(numWithTrips, 50u);
  EXPECT_GT(numWithWaits, 5u);
}

// The backwards begin when the other meshes let them: until then, forwards have time.
TEST(OffloadChoiceTest, ForwardsThatHaveTimeKeepThePaceOfTheLink) {
  Pyramid pyramid(4, 1, 2.5);
  for (auto [number, step] : llvm::enumerate(pyramid.load.steps)) {
    bool isForward = number < 4;
    if (!isForward) {
      step.start = 12 + 3 * (number - 4);
      step.stop = step.start + 2;
    }
    step.latest = isForward ? 3.0 * number : step.start;
  }
  EXPECT_FALSE(chooseTrips(pyramid.load, pyramid.groups, 1));
  auto plan = chooseTrips(pyramid.load, pyramid.groups, 2);
  ASSERT_TRUE(plan);
  EXPECT_EQ(plan->peak, 2);
  // The first has left at 3.5, when the third starts; its neighbour at 6.
  EXPECT_EQ(plan->starts, (std::vector<double>{0, 1, 3.5, 6, 12, 15, 18, 21}));
  ASSERT_EQ(plan->trips.size(), 2u);
  EXPECT_TRUE(plan->trips[0].isAwaited && plan->trips[1].isAwaited);
  EXPECT_EQ(plan->trips[0].freedStep, 2u);
  EXPECT_EQ(replay(pyramid.load, pyramid.groups, *plan), 2);
  // Without that time there is no such plan.
  for (DeviceLoad::Step &step : pyramid.load.steps)
    step.latest = step.start;
  EXPECT_FALSE(chooseTrips(pyramid.load, pyramid.groups, 2));
}
