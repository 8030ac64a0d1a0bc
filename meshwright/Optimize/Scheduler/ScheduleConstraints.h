//===- ScheduleConstraints.h - What a schedule requires ---------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_OPTIMIZE_SCHEDULER_SCHEDULECONSTRAINTS_H
#define MESHWRIGHT_OPTIMIZE_SCHEDULER_SCHEDULECONSTRAINTS_H

#include "meshwright/Optimize/Scheduler/ScheduleOption.h"
#include "meshwright/Optimize/Scheduler/SchedulingUnits.h"
#include <optional>

namespace mlir::mpmd {

/// What the constraints of a schedule need to know of the pipeline.
meshwright::PipelineNeed getNeed(const ScheduleOption &option);

/// Leaves the meshes whose units the schedule orders.
void dropUnordered(SmallVectorImpl<MeshUnits> &meshes,
                   const ScheduleOption &option);

/// What a schedule that is a relation requires of the units of each mesh.
SmallVector<meshwright::Constraints>
getRelation(const meshwright::Schedule &schedule, ArrayRef<MeshUnits> meshes);

/// What a schedule requires of the units of each mesh, which may be described by their
/// items only: a relation that, another schedule its plan. None if the program is not the
/// pipeline that the plan is of, or if the plan is made to measure.
std::optional<SmallVector<meshwright::Constraints>>
findConstraints(const ScheduleOption &option, ArrayRef<MeshUnits> meshes);

} // namespace mlir::mpmd

#endif
