//===- GPipeBut1F1BForLastMesh.cpp - GPipe without its peak at the end ----===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// The last mesh need not keep a microbatch: its backward work can follow its
// forward work at once.
//
//===----------------------------------------------------------------------===//

#include "meshwright/Schedule/Builtin/BuiltinSchedules.h"

using namespace meshwright;

static Constraints
getGPipeBut1F1BForLastMeshConstraints(const MeshPosition &mesh) {
  bool isLast = mesh.index == mesh.count - 1;
  return isLast ? kOneForwardOneBackward.getConstraints(mesh)
                : kGPipe.getConstraints(mesh);
}

static llvm::Expected<Plan>
makeGPipeBut1F1BForLastMeshPlan(const PlanShape &shape) {
  llvm::Expected<Plan> plan = kGPipe.makePlan(shape);
  if (!plan)
    return plan.takeError();
  llvm::Expected<Plan> last = kOneForwardOneBackward.makePlan(shape);
  if (!last)
    return last.takeError();
  plan->meshes.back() = std::move(last->meshes.back());
  return plan;
}

const Schedule meshwright::kGPipeBut1F1BForLastMesh =
    Schedule{"GPipeBut1F1BForLastMesh", "GPIPE_BUT_1F1B_FOR_LAST_MESH",
             "1F1B on the last mesh, GPipe on the others",
             "Huang et al., GPipe, arXiv:1811.06965, section 2.3",
             makeGPipeBut1F1BForLastMeshPlan}
        .with(&Schedule::getConstraints, getGPipeBut1F1BForLastMeshConstraints);
