//===- OffloadChoice.h - What waits in the host's memory --------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// Problem. A device runs one step after the other, and holds values between steps that
// are far apart. Which of them should wait in the host's memory, and when do they come
// back, so that no step holds more than a bound, and none waits for a value? The link
// to the host carries one value at a time in each direction.
//
// Example. Results of the steps A to D are read by a to d; three of them are a bound of
// 3 values too many at D, so B goes to the host (>) while C runs, and returns (<) with c:
//
//     steps   A B C D d c b a         held without  1 2 3 4 4 3 2 1
//     B           >     <             held          1 2 3 3 3 3 2 1
//
// Solution. Go through the steps. At one that holds too much, of the values that are not
// read for longest, take the first whose way to the host has ended by then, and for whose
// way back the link is free, as late as that may be. Ways to the host are first come,
// first served, which is what a device does; ways back keep the time that they got. The
// smallest bound is found by bisection.
//
// Where no choice empties a step that may begin later without a longer program, it waits:
// for the value whose way there ends first. So the forwards before the first backward,
// which a mesh could run at once, keep the pace of the link.
//
// Cost. For each bound that is tried, steps times groups times trips.
//
// Name in the literature: register spilling by the furthest next use (Belady).
//
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_SCHEDULE_SEARCH_OFFLOADCHOICE_H
#define MESHWRIGHT_SCHEDULE_SEARCH_OFFLOADCHOICE_H

#include "llvm/ADT/ArrayRef.h"
#include <cstdint>
#include <optional>
#include <vector>

namespace meshwright {

/// What a device does, in seconds and bytes.
struct DeviceLoad {
  struct Step {
    double start, stop;
    int64_t bytes; ///< Held while it runs, and until the next one.
    /// The last moment at which it may start, all those after it at theirs.
    double latest = 0;
  };
  std::vector<Step> steps;
  double secondsPerByte = 0; ///< Of the link to the host, in each direction.
  double latency = 0; ///< From the last byte's leaving to its being there.
};

/// Values that are touched by one step, and by none between that and another.
struct WaitingGroup {
  unsigned last, next;        ///< The two steps.
  double freeFrom = 0;        ///< When nothing else reads them any more.
  std::vector<int64_t> bytes; ///< Of each value, the largest first.
};

/// Some values of a group that wait in the host's memory.
struct HostTrip {
  unsigned group;
  unsigned firstValue, numValues;
  unsigned freedStep; ///< The first that does not hold them any more.
  /// The step at which they begin to come back: not before the one before it ends.
  unsigned fetchStep;
  /// When they are to come back at the latest: of several with one step, the one that has
  /// to first does.
  double fetchTime;
  /// Whether `freedStep` starts only when they are on the host.
  bool isAwaited = false;
};

/// Trips, and the most that a step then holds.
struct HostPlan {
  std::vector<HostTrip> trips;
  int64_t peak;
  std::vector<double>
      starts; ///< Of the steps; some are later than they could be.
};

/// Trips that keep all steps at `bound` or below; none if no trips found do.
std::optional<HostPlan> chooseTrips(const DeviceLoad &load,
                                    llvm::ArrayRef<WaitingGroup> groups,
                                    int64_t bound);

/// Those of the smallest bound that can be met, to a thousandth of what is held without
/// trips.
HostPlan findSmallestPeak(const DeviceLoad &load,
                          llvm::ArrayRef<WaitingGroup> groups);

} // namespace meshwright

#endif
