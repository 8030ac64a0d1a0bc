//===- HostUse.h - A plan whose activations wait on hosts -------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_SCHEDULE_SEARCH_HOSTUSE_H
#define MESHWRIGHT_SCHEDULE_SEARCH_HOSTUSE_H

#include "meshwright/Schedule/Search/Problem.h"
#include <optional>
#include <vector>

namespace meshwright {

/// Activations are sent in as many parts as this.
inline constexpr int64_t kPartsOfMicrobatch = 8;

/// What each mesh keeps where, if activations wait in the memory of its host while others
/// run, in parts of microbatches.
struct HostUse {
  std::vector<int64_t> onDevices; ///< The most at one time.
  std::vector<int64_t> numSent;   ///< That go to the host and come back.
};

/// Lets activations of a plan wait on the hosts so that each mesh keeps no more on its
/// devices than `problem.mostLive`; the link to a host takes `hostTime` for those of one
/// microbatch and stage, in each direction. Forwards may become later in `timeline`,
/// backwards do not. Empty if a mesh keeps more.
std::optional<HostUse> findHostUse(const PipelineProblem &problem,
                                   const Plan &plan, int64_t hostTime,
                                   Timeline &timeline);

} // namespace meshwright

#endif
