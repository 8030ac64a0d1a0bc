//===- LowerBound.h - No schedule is shorter --------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_SCHEDULE_SEARCH_LOWERBOUND_H
#define MESHWRIGHT_SCHEDULE_SEARCH_LOWERBOUND_H

#include "meshwright/Schedule/Search/Problem.h"

namespace meshwright {

/// A time that no order of the actions can beat. Microbatches are alike, so
/// some best order takes them in sequence, and on a mesh with memory for n of a
/// stage, forward m + n waits for the end of m: each action has a longest path
/// before it (head) and after it (tail). Each mesh alone, its actions
/// interruptible, then takes at least what Jackson's rule says. Where microbatches
/// differ, those of a bucket are alike; paths are then those of each bucket as if there
/// were no other, or those of all with the least times.
int64_t findLowerBound(const PipelineProblem &problem);

} // namespace meshwright

#endif
