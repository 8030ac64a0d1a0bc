//===- OffloadChoice.cpp - What waits in the host's memory ----------------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

#include "meshwright/Schedule/Search/OffloadChoice.h"
#include "llvm/ADT/STLExtras.h"
#include <algorithm>
#include <numeric>

using namespace meshwright;

namespace {
/// A time for which a direction of the link is taken.
struct Slot {
  double start, stop;
};

/// A way to the host.
struct Departure {
  double ready;   ///< When the values are computed.
  double seconds; ///< Of the link.
  unsigned freed; ///< The first step that is not to hold them any more.
};

class Chooser {
public:
  Chooser(const DeviceLoad &load, llvm::ArrayRef<WaitingGroup> groups,
          int64_t bound);

  std::optional<HostPlan> choose();

private:
  bool takeAny(unsigned step);
  /// Makes a step wait for what is on the host first.
  bool awaitAny(unsigned step);
  bool takePart(unsigned step, unsigned group, bool mayWait);
  bool take(unsigned step, unsigned group, unsigned numValues, bool mayWait);
  /// Whether all trips still come back in time if a step starts then, and those of one that
  /// begins to come back with `fetchStep`.
  bool mayStartAt(unsigned step, double time, unsigned fetchStep,
                  double fetchTime) const;
  void startAt(unsigned step, double time);
  /// Whether all that goes to the host is there in time if this does, too. Says when
  /// that is there.
  std::optional<double> findArrival(const Departure &departure) const;
  /// The last time at which the link is free for so long before `deadline`.
  std::optional<Slot> findSlot(double deadline, double seconds) const;

  DeviceLoad load; ///< Its steps may become later.
  llvm::ArrayRef<WaitingGroup> groups;
  int64_t bound;
  std::vector<double> stops;      ///< Of each step, if none waits.
  std::vector<int64_t> held;      ///< Of each step.
  std::vector<unsigned> numTaken; ///< Values of each group.
  std::vector<unsigned> byNext;   ///< Groups, the furthest next use first.
  std::vector<unsigned> byLast;   ///< Groups, the first that may leave first.
  std::vector<Departure> departures; ///< By `ready`.
  std::vector<Slot> returns;         ///< In order; they do not overlap.
  std::vector<HostTrip> trips;
};
} // namespace

Chooser::Chooser(const DeviceLoad &load, llvm::ArrayRef<WaitingGroup> groups,
                 int64_t bound)
    : load(load), groups(groups), bound(bound), numTaken(groups.size(), 0),
      byNext(groups.size()), byLast(groups.size()) {
  for (const DeviceLoad::Step &step : load.steps) {
    held.push_back(step.bytes);
    stops.push_back(step.stop);
  }
  std::iota(byNext.begin(), byNext.end(), 0);
  llvm::stable_sort(byNext, [&](unsigned a, unsigned b) {
    return groups[a].next > groups[b].next;
  });
  std::iota(byLast.begin(), byLast.end(), 0);
  llvm::stable_sort(byLast, [&](unsigned a, unsigned b) {
    return groups[a].last < groups[b].last;
  });
}

std::optional<double> Chooser::findArrival(const Departure &departure) const {
  double free = 0, arrival = 0;
  auto leave = [&](const Departure &each) {
    free = std::max(free, each.ready) + each.seconds;
    return free + load.latency;
  };
  const auto *place = llvm::upper_bound(
      llvm::ArrayRef(departures), departure.ready,
      [](double ready, const Departure &each) { return ready < each.ready; });
  for (const Departure &each : llvm::make_range(departures.data(), place))
    leave(each);
  arrival = leave(departure);
  // Those after it are later now.
  for (const Departure &each :
       llvm::make_range(place, departures.data() + departures.size()))
    if (leave(each) > load.steps[each.freed].start)
      return std::nullopt;
  return arrival;
}

std::optional<Slot> Chooser::findSlot(double deadline, double seconds) const {
  double stop = deadline;
  for (const Slot &taken : llvm::reverse(returns)) {
    if (taken.start >= stop)
      continue;
    if (stop - seconds >= taken.stop)
      break;
    stop = taken.start;
  }
  if (stop < seconds)
    return std::nullopt;
  return Slot{stop - seconds, stop};
}

bool Chooser::mayStartAt(unsigned step, double time, unsigned fetchStep,
                         double fetchTime) const {
  auto isInTime = [&](unsigned each, double start) {
    return (each != fetchStep || start <= fetchTime) &&
           llvm::all_of(trips, [&](const HostTrip &trip) {
             return trip.fetchStep != each || start <= trip.fetchTime;
           });
  };
  for (unsigned each = step; each < load.steps.size(); ++each) {
    const DeviceLoad::Step &later = load.steps[each];
    if (later.start >= time)
      return true;
    if (!isInTime(each, time))
      return false;
    time += later.stop - later.start;
  }
  return true;
}

/// Those after it on the device are later, too.
void Chooser::startAt(unsigned step, double time) {
  for (DeviceLoad::Step &each :
       llvm::MutableArrayRef(load.steps).drop_front(step)) {
    if (each.start >= time)
      return;
    each.stop += time - each.start;
    each.start = time;
    time = each.stop;
  }
}

bool Chooser::take(unsigned step, unsigned number, unsigned numValues,
                   bool mayWait) {
  const WaitingGroup &group = groups[number];
  unsigned first = numTaken[number];
  int64_t bytes = 0;
  for (int64_t each : llvm::ArrayRef(group.bytes).slice(first, numValues))
    bytes += each;
  double seconds = static_cast<double>(bytes) * load.secondsPerByte;

  Departure departure{load.steps[group.last].stop, seconds, step};
  std::optional<double> arrival = findArrival(departure);
  if (!arrival)
    return false;
  // Its other readers are as much later as it is.
  double later = departure.ready - stops[group.last];
  double free = std::max(*arrival, group.freeFrom + later);
  bool waits = free > load.steps[step].start;
  // What others read is not waited for.
  if (waits && (!mayWait || free > *arrival || free > load.steps[step].latest))
    return false;
  auto startsBefore = [](const DeviceLoad::Step &each, double time) {
    return each.start < time;
  };
  departure.freed = waits ? step
                          : llvm::lower_bound(load.steps, free, startsBefore) -
                                load.steps.begin();

  std::optional<Slot> slot =
      findSlot(load.steps[group.next].start - load.latency, seconds);
  if (!slot)
    return false;
  unsigned fetchStep = llvm::upper_bound(load.steps, slot->start,
                                         [](double time, const auto &each) {
                                           return time < each.start;
                                         }) -
                       load.steps.begin();
  if (fetchStep <= step + 1)
    return false;
  --fetchStep;
  if (waits && !mayStartAt(step, free, fetchStep, slot->start))
    return false;

  auto isLater = [](double ready, const Departure &each) {
    return ready < each.ready;
  };
  departures.insert(llvm::upper_bound(departures, departure.ready, isLater),
                    departure);
  returns.insert(llvm::upper_bound(returns, slot->start,
                                   [](double start, const Slot &each) {
                                     return start < each.start;
                                   }),
                 *slot);
  trips.push_back({number, first, numValues, departure.freed, fetchStep,
                   slot->start, waits});
  numTaken[number] += numValues;
  for (unsigned each = departure.freed; each < fetchStep; ++each)
    held[each] -= bytes;
  if (waits)
    startAt(step, free);
  return true;
}

/// Sends as many values of a group as it takes; as many as the link takes.
bool Chooser::takePart(unsigned step, unsigned number, bool mayWait) {
  llvm::ArrayRef<int64_t> left =
      llvm::ArrayRef(groups[number].bytes).drop_front(numTaken[number]);
  int64_t excess = held[step] - bound;
  unsigned count = 0;
  while (count < left.size() && excess > 0)
    excess -= left[count++];
  for (; count > 0; count /= 2)
    if (take(step, number, count, mayWait))
      return true;
  return false;
}

/// Lets values wait in the host's memory while a step runs.
bool Chooser::takeAny(unsigned step) {
  for (unsigned number : byNext) {
    if (groups[number].next <= step)
      return false;
    if (groups[number].last < step && takePart(step, number, /*mayWait=*/false))
      return true;
  }
  return false;
}

bool Chooser::awaitAny(unsigned step) {
  if (load.steps[step].latest <= load.steps[step].start)
    return false;
  for (unsigned number : byLast) {
    if (groups[number].last >= step)
      return false;
    if (groups[number].next > step && takePart(step, number, /*mayWait=*/true))
      return true;
  }
  return false;
}

std::optional<HostPlan> Chooser::choose() {
  for (unsigned step = 0; step < load.steps.size(); ++step)
    while (held[step] > bound)
      if (!takeAny(step) && !awaitAny(step))
        return std::nullopt;
  int64_t peak = held.empty() ? 0 : *llvm::max_element(held);
  HostPlan plan{std::move(trips), peak, {}};
  for (const DeviceLoad::Step &step : load.steps)
    plan.starts.push_back(step.start);
  return plan;
}

std::optional<HostPlan>
meshwright::chooseTrips(const DeviceLoad &load,
                        llvm::ArrayRef<WaitingGroup> groups, int64_t bound) {
  return Chooser(load, groups, bound).choose();
}

HostPlan meshwright::findSmallestPeak(const DeviceLoad &load,
                                      llvm::ArrayRef<WaitingGroup> groups) {
  HostPlan best{{}, 0, {}};
  for (const DeviceLoad::Step &step : load.steps) {
    best.peak = std::max(best.peak, step.bytes);
    best.starts.push_back(step.start);
  }
  int64_t tolerance = std::max<int64_t>(1, best.peak / 1000);
  for (int64_t tooSmall = -1; best.peak - tooSmall > tolerance;) {
    int64_t middle = tooSmall + (best.peak - tooSmall) / 2;
    if (std::optional<HostPlan> found = chooseTrips(load, groups, middle))
      best = std::move(*found);
    else
      tooSmall = middle;
  }
  return best;
}
