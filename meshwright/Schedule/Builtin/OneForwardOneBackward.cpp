//===- OneForwardOneBackward.cpp - A backward for each forward ------------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// Mesh m of N holds at most N - m microbatches whose backward work is still to
// come. Once it is full, each forward waits for one backward:
//
//   F(i + N - m - 1)  before  B(i)  before  F(i + N - m)
//
//===----------------------------------------------------------------------===//

#include "meshwright/Schedule/Builtin/BuiltinSchedules.h"
#include "meshwright/Schedule/Patterns/Alternate.h"

using namespace meshwright;

static Constraints
getOneForwardOneBackwardConstraints(const MeshPosition &mesh) {
  constexpr WorkKind F = WorkKind::Forward;
  int64_t inFlight = mesh.count - mesh.index;
  Constraints constraints;
  constraints.findPlace = [](const WorkItem &item) {
    bool isBackward = item.kind != WorkKind::Forward;
    return Place{isBackward, {item.microbatch}};
  };
  for (WorkKind backward : {WorkKind::Backward, WorkKind::Weight}) {
    constraints.offsets.push_back({F, backward, inFlight - 1});
    constraints.offsets.push_back({backward, F, -inFlight});
  }
  return constraints;
}

static llvm::Expected<Plan>
makeOneForwardOneBackwardPlan(const PlanShape &shape) {
  return alternateOnAll(shape, shape.microbatches, [&](int64_t mesh) {
    return Alternation{/*lead=*/shape.meshes - mesh, {}};
  });
}

const Schedule meshwright::kOneForwardOneBackward =
    Schedule{"1F1B", "ONE_FWD_ONE_BWD",
             "one backward after each forward once the pipeline is full",
             "Narayanan et al., PipeDream, arXiv:1806.03377, section 3.1",
             makeOneForwardOneBackwardPlan}
        .with(&Schedule::getConstraints, getOneForwardOneBackwardConstraints);
