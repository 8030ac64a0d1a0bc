//===- PlanConstraints.h - What a plan requires of a program ----*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_OPTIMIZE_SCHEDULER_PLANCONSTRAINTS_H
#define MESHWRIGHT_OPTIMIZE_SCHEDULER_PLANCONSTRAINTS_H

#include "meshwright/Optimize/Scheduler/ScheduleOption.h"
#include "meshwright/Optimize/Scheduler/TimedProgram.h"

namespace mlir::mpmd {

/// What a schedule that is a plan requires on each mesh of the program. The plan
/// is made for the meshes, stages and microbatches that the units have, and if
/// it is made to measure, for the times that they take.
///
/// Reports an error if there is no such plan, if a stage is on another mesh
/// than in the plan, or if bubbles cannot be filled because no backward work is
/// split; a warning for each stage where only that is whole. A unit that was
/// not split takes the place of the gradient of its input. Leaves the plan in
/// `plan`, and the stage that a unit has there in the units. Where a plan that is made
/// to measure has microbatches in another order, sums follow it, so that `graph` is no
/// more that of the block.
FailureOr<SmallVector<meshwright::Constraints>>
getPlanConstraints(func::FuncOp func, const ScheduleOption &option,
                   const TimeSource &times, const BlockGraph &graph,
                   MutableArrayRef<MeshUnits> meshes, meshwright::Plan &plan);

/// The same silently: none if the program is not the pipeline that the
/// plan is of, or if the plan is made to measure. The plan of a relation keeps the relation.
std::optional<SmallVector<meshwright::Constraints>>
findPlanConstraints(const ScheduleOption &option, ArrayRef<MeshUnits> meshes);

} // namespace mlir::mpmd

#endif
