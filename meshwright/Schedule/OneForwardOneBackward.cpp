//===- OneForwardOneBackward.cpp - 1F1B and its mix with GPipe ------------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// Mesh m of N holds at most N - m microbatches whose backward work is still to
// come. Once it is full, each forward waits for one backward:
//
//   F(i + N - m - 1)  before  B(i)  before  F(i + N - m)
//
//===----------------------------------------------------------------------===//

#include "meshwright/Schedule/BuiltinSchedules.h"

using namespace meshwright;

static bool mustPrecede(const WorkItem &first, const WorkItem &second,
                        const MeshPosition &mesh) {
  bool firstIsForward = first.kind == WorkKind::Forward;
  bool secondIsForward = second.kind == WorkKind::Forward;
  if (firstIsForward == secondIsForward)
    return first.microbatch < second.microbatch;
  int64_t inFlight = mesh.count - mesh.index;
  if (firstIsForward)
    return first.microbatch == second.microbatch + inFlight - 1;
  return first.microbatch == second.microbatch - inFlight;
}

static bool mustPrecedeOnLastMesh(const WorkItem &first, const WorkItem &second,
                                  const MeshPosition &mesh) {
  bool isLast = mesh.index == mesh.count - 1;
  return isLast ? mustPrecede(first, second, mesh)
                : kGPipe.mustPrecede(first, second, mesh);
}

const Schedule meshwright::kOneForwardOneBackward = {
    "1F1B", "one backward after each forward once the pipeline is full",
    "Narayanan et al., PipeDream, arXiv:1806.03377", mustPrecede};

const Schedule meshwright::kGPipeBut1F1BForLastMesh = {
    "GPipeBut1F1BForLastMesh", "1F1B on the last mesh, GPipe on the others",
    "Huang et al., GPipe, arXiv:1811.06965", mustPrecedeOnLastMesh};
