//===- ZeroBubbleH1.cpp - Weight gradients fill the bubbles of 1F1B -------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// Backward work is cut in two: B gives the gradient that the mesh before waits
// for, W the gradient of the weights, which nobody waits for. The order of
// forwards and Bs is that of 1F1B, with its memory; W lags behind by the
// position of the mesh.
//
//===----------------------------------------------------------------------===//

#include "meshwright/Schedule/BuiltinSchedules.h"

using namespace meshwright;

static bool mustPrecede(const WorkItem &first, const WorkItem &second,
                        const MeshPosition &mesh) {
  int64_t ahead = first.microbatch - second.microbatch;
  int64_t inFlight = mesh.count - mesh.index;
  auto is = [&](WorkKind a, WorkKind b) {
    return first.kind == a && second.kind == b;
  };
  if (is(WorkKind::Forward, WorkKind::Backward))
    return ahead == inFlight - 1;
  if (is(WorkKind::Backward, WorkKind::Forward))
    return ahead == -inFlight;
  if (is(WorkKind::Backward, WorkKind::Weight))
    return ahead == mesh.index;
  if (is(WorkKind::Weight, WorkKind::Forward))
    return ahead == -mesh.count;
  if (is(WorkKind::Weight, WorkKind::Backward))
    return ahead == -(mesh.index + 1);
  return false;
}

const Schedule meshwright::kZeroBubbleH1 = {
    "ZeroBubbleH1", "1F1B with weight gradients in its bubbles",
    "Qi et al., Zero Bubble Pipeline Parallelism, arXiv:2401.10241",
    mustPrecede};
