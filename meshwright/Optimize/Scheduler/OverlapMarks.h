//===- OverlapMarks.h - Marks what a plan overlaps --------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_OPTIMIZE_SCHEDULER_OVERLAPMARKS_H
#define MESHWRIGHT_OPTIMIZE_SCHEDULER_OVERLAPMARKS_H

#include "meshwright/Optimize/Scheduler/SchedulingUnits.h"

namespace mlir::mpmd {

/// Whether the plan has overlapped steps.
bool hasOverlaps(const meshwright::Plan &plan);

/// Gives the units of each overlapped step of the plan `kOverlapAttr`. A whole
/// backward of the plan may be two units of the program. The stages of the units must
/// be known.
void markOverlaps(const meshwright::Plan &plan, ArrayRef<MeshUnits> meshes);

} // namespace mlir::mpmd

#endif
