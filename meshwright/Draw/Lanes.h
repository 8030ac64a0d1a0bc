//===- Lanes.h - Where in its mesh a bar is ---------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_DRAW_LANES_H
#define MESHWRIGHT_DRAW_LANES_H

#include "meshwright/Draw/Drawing.h"

namespace meshwright {

/// A mesh has a lane for what it computes and one for what it receives. Bars of
/// one lane that overlap share its height: each has a slot, one above the
/// other.
struct Lanes {
  static constexpr unsigned kCompute = 0, kReceive = 1;

  /// Of each bar: its slot, and how many it is one of.
  std::vector<uint8_t> slot, slots;

  static unsigned getLane(const Drawing::Bar &bar) {
    return bar.isTransfer() ? kReceive : kCompute;
  }
};

/// More than eight bars at once share the last slot.
Lanes findLanes(llvm::ArrayRef<Drawing::Bar> bars, size_t numMeshes);

} // namespace meshwright

#endif
