//===- ScheduleConstraints.cpp - What a schedule requires -----------------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

#include "meshwright/Optimize/Scheduler/ScheduleConstraints.h"
#include "meshwright/Optimize/Scheduler/PlanConstraints.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SmallVectorExtras.h"

using namespace mlir;
using namespace mlir::mpmd;
using meshwright::Constraints;
using meshwright::PipelineNeed;
using meshwright::Schedule;

PipelineNeed mlir::mpmd::getNeed(const ScheduleOption &option) {
  return option.schedule ? option.schedule->need : PipelineNeed::Position;
}

void mlir::mpmd::dropUnordered(SmallVectorImpl<MeshUnits> &meshes,
                               const ScheduleOption &option) {
  if (getNeed(option) == PipelineNeed::Position)
    llvm::erase_if(meshes,
                   [](const MeshUnits &mesh) { return !mesh.isInPipeline(); });
}

SmallVector<Constraints> mlir::mpmd::getRelation(const Schedule &schedule,
                                                 ArrayRef<MeshUnits> meshes) {
  return llvm::map_to_vector(meshes, [&](const MeshUnits &mesh) {
    return schedule.getConstraints(mesh.mesh);
  });
}

std::optional<SmallVector<Constraints>>
mlir::mpmd::findConstraints(const ScheduleOption &option,
                            ArrayRef<MeshUnits> meshes) {
  if (option.schedule && option.schedule->getConstraints)
    return getRelation(*option.schedule, meshes);
  return findPlanConstraints(option, meshes);
}
