//===- MeasuredPlan.h - A plan for the work of a program --------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_OPTIMIZE_SCHEDULER_MEASUREDPLAN_H
#define MESHWRIGHT_OPTIMIZE_SCHEDULER_MEASUREDPLAN_H

#include "meshwright/Optimize/Scheduler/RunningSums.h"
#include "meshwright/Optimize/Scheduler/TimedProgram.h"
#include "meshwright/Schedule/Plan.h"

namespace mlir::mpmd {

/// The shortest plan found for the stages as they are: on the meshes of their
/// units, with backwards in halves where the program has halves, in the memory that
/// the source gives, or that of 1F1B. Each action is as long as its fragment has floating point work, and
/// transfers take no time, unless the source gives seconds. Microbatches that differ
/// get an order, too, if nothing but `sums` leads from one to another. All units have a
/// stage. Fails, with an error, where stages are missing or on several meshes.
FailureOr<meshwright::Plan> makeMeasuredPlan(func::FuncOp func,
                                             ArrayRef<MeshUnits> meshes,
                                             const meshwright::PlanShape &shape,
                                             const TimeSource &source,
                                             const RunningSums &sums);

} // namespace mlir::mpmd

#endif
