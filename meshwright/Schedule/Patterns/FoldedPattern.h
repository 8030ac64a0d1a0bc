//===- FoldedPattern.h - One pattern on a folded pipeline -------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// Two stages on each mesh, placed like a V. A microbatch goes down the meshes,
// up again, and back the same way; the next one follows six units of time
// later, which is what all its actions take on one mesh. How long a microbatch
// stays under way, and so what a mesh keeps, depends on how fast each of the
// four passes moves from mesh to mesh:
//
//   mesh 0 | Fa .  .  .  .  Fz Iz .. Ia       passes 1, 1, 1, 1
//   mesh 1 | .  Fa .  .  Fz .  .  Iz ..
//
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_SCHEDULE_PATTERNS_FOLDEDPATTERN_H
#define MESHWRIGHT_SCHEDULE_PATTERNS_FOLDEDPATTERN_H

#include "meshwright/Schedule/Schedule.h"

namespace meshwright {

/// The units of time from a mesh to the next one, in each pass.
struct FoldedLatencies {
  int64_t forwardDown, forwardUp, gradientDown, gradientUp;
};

/// The order in which each mesh meets the actions of the pattern, begun as
/// early as no two actions of a mesh fall together. The latencies must leave such
/// a beginning, whatever the number of meshes.
Plan repeatFoldedPattern(const PlanShape &shape,
                         const FoldedLatencies &latencies);

} // namespace meshwright

#endif
