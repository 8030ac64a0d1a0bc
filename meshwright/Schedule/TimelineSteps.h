//===- TimelineSteps.h - What a drawing of a timeline shows -----*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_SCHEDULE_TIMELINESTEPS_H
#define MESHWRIGHT_SCHEDULE_TIMELINESTEPS_H

#include "meshwright/Schedule/Timeline.h"
#include <string>
#include <vector>

namespace meshwright {

/// What is drawn at once: an action, or an overlapped pair.
struct TimelineStep {
  /// `F3`; where a mesh has several stages `5F3`; of a chunk of a sequence `F3.1`.
  std::string label;
  Action action; ///< Of a pair, the first.
  Interval interval;
};

/// The steps of each mesh, in order.
std::vector<std::vector<TimelineStep>> getSteps(const Plan &plan,
                                                const Timeline &timeline);

/// The names of the towers on each mesh; empty texts where stages are a chain.
std::vector<std::string> listTowers(const Plan &plan);

} // namespace meshwright

#endif
