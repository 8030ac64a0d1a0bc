//===- DualLane.cpp - Two streams of microbatches on one mesh -------------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

#include "meshwright/Schedule/Patterns/DualLane.h"
#include <deque>

using namespace meshwright;

static constexpr ActionKind F = ActionKind::Forward, B = ActionKind::Backward,
                            I = ActionKind::Input, W = ActionKind::Weight;

namespace {
/// Builds the list; each action takes the next microbatch of its lane.
class DualLanes {
public:
  DualLanes(Lane near, Lane far) : lanes{near, far} {}

  enum Side { Near, Far };

  void forward(Side side) { add(side, F, forwards[side]++); }
  /// A gradient of the input owes the one of the weights.
  void backward(Side side, ActionKind kind) {
    int64_t microbatch = backwards[side]++;
    add(side, kind, microbatch);
    if (kind == I)
      owed.push_back({side, microbatch});
  }
  /// One step, in which a forward hides the backward of the other lane.
  void overlap(Side side) {
    forward(side);
    list.back().joinsNext = true;
    backward(side == Near ? Far : Near, B);
  }
  /// Pays the oldest debt, if there is any.
  void weight() {
    if (owed.empty())
      return;
    add(owed.front().first, W, owed.front().second);
    owed.pop_front();
  }

  ActionList takeList() { return std::move(list); }

private:
  void add(Side side, ActionKind kind, int64_t microbatch) {
    list.push_back(
        {lanes[side].stage, kind, lanes[side].firstMicrobatch + microbatch});
  }

  Lane lanes[2];
  int64_t forwards[2] = {}, backwards[2] = {};
  std::deque<std::pair<Side, int64_t>> owed;
  ActionList list;
};
} // namespace

/// Steps 1 to 3: until both lanes are full.
static void fill(DualLanes &lanes, int64_t index, int64_t following) {
  for (int64_t i = 0; i < 2 * following; ++i)
    lanes.forward(DualLanes::Near);
  for (int64_t i = 0; i <= index; ++i) {
    lanes.forward(DualLanes::Near);
    lanes.forward(DualLanes::Far);
  }
  for (int64_t i = 0; i < following; ++i) {
    lanes.backward(DualLanes::Far, I);
    lanes.weight();
    lanes.forward(DualLanes::Far);
  }
}

/// Steps 6 to 8: the backwards that are left, more and more of them split.
static void drain(DualLanes &lanes, int64_t index, int64_t following) {
  for (int64_t i = 0; i <= index; ++i) {
    lanes.backward(DualLanes::Far, i < (index + 2) / 2 ? B : I);
    lanes.backward(DualLanes::Near, i < (index + 1) / 2 ? B : I);
  }
  for (int64_t i = 0; i < following; ++i) {
    lanes.weight();
    lanes.backward(DualLanes::Near, I);
  }
  for (int64_t i = 0; i <= index; ++i)
    lanes.weight();
}

ActionList meshwright::listDualLanes(int64_t index, int64_t count,
                                     int64_t microbatches, Lane near,
                                     Lane far) {
  int64_t following = count - 1 - index;
  DualLanes lanes(near, far);
  fill(lanes, index, following);
  for (int64_t i = 0; i < microbatches - 2 * count + index + 1; ++i) {
    if (i == 0 && following == 0) {
      // Nothing is in flight yet that the first forward could hide.
      lanes.forward(DualLanes::Near);
      lanes.backward(DualLanes::Far, B);
    } else {
      lanes.overlap(DualLanes::Near);
    }
    lanes.overlap(DualLanes::Far);
  }
  for (int64_t i = 0; i < following; ++i) {
    lanes.backward(DualLanes::Far, B);
    lanes.overlap(DualLanes::Far);
  }
  drain(lanes, index, following);
  return lanes.takeList();
}
