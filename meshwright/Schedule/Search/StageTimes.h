//===- StageTimes.h - The stages of a pipeline, from a file -----*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// Times are positive integers, in a unit of one's choice:
//
//   {"transfer": 1,
//    "stages": [{"forward": 3, "input": 3, "weight": 2},
//               {"forward": 4, "backward": 8, "split": false, "mesh": 1}]}
//
// `backward` is that of a backward as a whole; without it, it takes as long as
// its halves. A stage that is not split needs no halves. Meshes are given for
// all stages or for none.
//
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_SCHEDULE_SEARCH_STAGETIMES_H
#define MESHWRIGHT_SCHEDULE_SEARCH_STAGETIMES_H

#include "meshwright/Schedule/Timeline.h"
#include "llvm/ADT/StringRef.h"

namespace meshwright {

struct StageTimes {
  PipelineCosts costs;
  /// Whether the backward of each stage may run in two halves.
  std::vector<bool> splits;
  /// The mesh of each stage; empty if the file leaves that open.
  std::vector<int64_t> placement;

  /// Makes each microbatch this many times as long. Fails if there is not one factor for
  /// each of `microbatches`, or a factor is not positive or makes an action longer than
  /// one may be.
  llvm::Error scaleMicrobatches(llvm::ArrayRef<int64_t> factors,
                                int64_t microbatches);
};

/// Errors say where in the text something is missing or wrong.
llvm::Expected<StageTimes> parseStageTimes(llvm::StringRef text);

/// The same for a file, which errors name.
llvm::Expected<StageTimes> readStageTimes(llvm::StringRef path);

} // namespace meshwright

#endif
