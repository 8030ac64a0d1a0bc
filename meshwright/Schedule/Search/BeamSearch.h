//===- BeamSearch.h - The best of many orders -------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_SCHEDULE_SEARCH_BEAMSEARCH_H
#define MESHWRIGHT_SCHEDULE_SEARCH_BEAMSEARCH_H

#include "meshwright/Schedule/Search/Problem.h"
#include <optional>

namespace meshwright {

struct BeamResult {
  /// Shorter than the limit; none if the search found none.
  std::optional<Plan> plan;
  /// Nothing was left out: no order is shorter than `plan`, or than the limit.
  bool complete = false;
};

/// Builds orders action by action, all of one length side by side, and keeps
/// the most promising `width`. Of two that have done the same actions, one that
/// is nowhere later makes the other needless. With one stage on each mesh the
/// orders that are tried hold a best one (the schedules that Giffler and
/// Thompson call active), so a search that never had to drop one is a proof.
BeamResult searchOrders(const PipelineProblem &problem, size_t width,
                        int64_t limit);

} // namespace meshwright

#endif
