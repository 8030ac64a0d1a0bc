//===- Registry.cpp - The list of schedules -------------------------------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

#include "meshwright/Schedule/BuiltinSchedules.h"

using namespace meshwright;

static const Schedule *const kSchedules[] = {
    &kNone,
    &kOneForwardOneBackward,
    &kGPipe,
    &kCircular,
    &kCircularWithReversedBackward,
    &kGPipeBut1F1BForLastMesh,
    &kZeroBubbleH1,
    &kZeroBubbleH2ZeroTxLatency,
    &kZeroBubbleH2HalfTxLatency,
    &kZeroBubbleH2FullTxLatency,
    &kParallelPipelinesWithWrapAround,
};

llvm::ArrayRef<const Schedule *> meshwright::getSchedules() {
  return kSchedules;
}

const Schedule *meshwright::findSchedule(llvm::StringRef name) {
  name.consume_front("builtin:");
  for (const Schedule *schedule : kSchedules)
    if (schedule->name.equals_insensitive(name))
      return schedule;
  return nullptr;
}
