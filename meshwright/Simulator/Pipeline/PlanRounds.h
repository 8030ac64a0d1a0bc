//===- PlanRounds.h - What a plan does again and again ----------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// Once a pipeline is full, each mesh does the same for the next microbatches, round by
// round:
//
//   m0:  0F0 0F1 | 0B0 0F2 | 0B1 0F3 | 0B2 0F4 | 0B3 0B4
//   m1:  1F0 | 1B0 1F1 | 1B1 1F2 | 1B2 1F3 | 1B3 1F4 | 1B4
//
// Without some of the rounds this is the plan of fewer microbatches:
//
//   m0:  0F0 0F1 | 0B0 0F2 | 0B1 0B2
//   m1:  1F0 | 1B0 1F1 | 1B1 1F2 | 1B2
//
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_SIMULATOR_PIPELINE_PLANROUNDS_H
#define MESHWRIGHT_SIMULATOR_PIPELINE_PLANROUNDS_H

#include "meshwright/Schedule/Plan.h"
#include <cstdint>
#include <optional>
#include <vector>

namespace meshwright {

struct PlanRounds {
  /// Where the first round of a mesh begins in its list, and the actions of each.
  struct Mesh {
    uint32_t begin = 0, length = 0;
  };
  std::vector<Mesh> meshes;
  int64_t microbatches = 0; ///< Of a round.
  uint32_t count = 0;       ///< That each mesh has.
  uint32_t removed = 0;     ///< Of those.

  /// Of a plan whose microbatches are numbers from 0 on (StepGraph::canHave). Finds rounds
  /// that have an action of each stage and kind of a mesh for each of their
  /// microbatches; before and after them are lower and higher microbatches.
  static std::optional<PlanRounds> find(const Plan &plan);

  /// Removes the first rounds, but for those in which a run can be seen to repeat. Says
  /// whether the plan is then much shorter; else it is as it was.
  bool shorten(Plan &plan);
  /// The reverse.
  void lengthen(Plan &plan) const;
};

} // namespace meshwright

#endif
