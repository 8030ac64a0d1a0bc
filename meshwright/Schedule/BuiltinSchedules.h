//===- BuiltinSchedules.h - The schedules that Registry.cpp lists ---------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_SCHEDULE_BUILTINSCHEDULES_H
#define MESHWRIGHT_SCHEDULE_BUILTINSCHEDULES_H

#include "meshwright/Schedule/Schedule.h"

namespace meshwright {

extern const Schedule kNone;
extern const Schedule kOneForwardOneBackward;
extern const Schedule kGPipe;
extern const Schedule kCircular;
extern const Schedule kCircularWithReversedBackward;
extern const Schedule kGPipeBut1F1BForLastMesh;
extern const Schedule kZeroBubbleH1;
extern const Schedule kZeroBubbleH2ZeroTxLatency;
extern const Schedule kZeroBubbleH2HalfTxLatency;
extern const Schedule kZeroBubbleH2FullTxLatency;
extern const Schedule kParallelPipelinesWithWrapAround;

} // namespace meshwright

#endif
