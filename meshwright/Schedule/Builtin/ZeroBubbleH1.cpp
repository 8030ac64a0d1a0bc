//===- ZeroBubbleH1.cpp - Weight gradients fill the bubbles of 1F1B -------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// Backward work is cut in two: B gives the gradient that the mesh before waits
// for, W the gradient of the weights, which nothing waits for. The order of
// forwards and Bs is that of 1F1B, with its memory; W lags behind by the
// position of the mesh.
//
//===----------------------------------------------------------------------===//

#include "meshwright/Schedule/Builtin/BuiltinSchedules.h"
#include "meshwright/Schedule/Patterns/Alternate.h"

using namespace meshwright;

static Constraints getZeroBubbleH1Constraints(const MeshPosition &mesh) {
  constexpr WorkKind F = WorkKind::Forward, B = WorkKind::Backward,
                     W = WorkKind::Weight;
  int64_t inFlight = mesh.count - mesh.index;
  Constraints constraints;
  constraints.offsets = {{F, B, inFlight - 1},
                         {B, F, -inFlight},
                         {B, W, mesh.index},
                         {W, F, -mesh.count},
                         {W, B, -(mesh.index + 1)}};
  return constraints;
}

static llvm::Expected<Plan> makeZeroBubbleH1Plan(const PlanShape &shape) {
  return alternateOnAll(shape, shape.microbatches, [&](int64_t mesh) {
    return Alternation{/*lead=*/shape.meshes - mesh, /*lag=*/mesh};
  });
}

const Schedule meshwright::kZeroBubbleH1 =
    Schedule{"ZeroBubbleH1", "ZERO_BUBBLE_H1",
             "1F1B with weight gradients in its bubbles",
             "Qi et al., Zero Bubble Pipeline Parallelism, arXiv:2401.10241",
             makeZeroBubbleH1Plan}
        .with(&Schedule::getConstraints, getZeroBubbleH1Constraints)
        .with(&Schedule::splitsBackward, true);
