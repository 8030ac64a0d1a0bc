//===- DualLane.h - Two streams of microbatches on one mesh -----*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_SCHEDULE_PATTERNS_DUALLANE_H
#define MESHWRIGHT_SCHEDULE_PATTERNS_DUALLANE_H

#include "meshwright/Schedule/Plan.h"

namespace meshwright {

/// A stage of a mesh and the first microbatch that goes through it.
struct Lane {
  int64_t stage;
  int64_t firstMicrobatch;
};

/// The list of a mesh that serves two lanes, the forward of one beside the
/// backward of the other: DualPipe's eight steps. The mesh is number `index` of
/// `count` from where microbatches enter; `near` is the lane that enters there,
/// `far` the one that comes back. `microbatches` go through each lane, at least
/// twice as many as meshes.
ActionList listDualLanes(int64_t index, int64_t count, int64_t microbatches,
                         Lane near, Lane far);

} // namespace meshwright

#endif
