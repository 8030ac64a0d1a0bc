//===- ParallelPipelinesWithWrapAround.cpp - A pipeline per mesh ----------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// Inference on a ring: microbatch k enters at mesh k, so each mesh k starts
// with its own and then takes what comes round: k, k - 1, ..., 0, last, ..., k
// + 1.
//
//===----------------------------------------------------------------------===//

#include "meshwright/Schedule/BuiltinSchedules.h"

using namespace meshwright;

static std::optional<std::string> findProblem(const WorkItem &first,
                                              const WorkItem &second,
                                              const MeshPosition &mesh) {
  if (!mesh.number)
    return "needs mesh names that end in a number, as in m0, m1";
  if (first.kind != WorkKind::Forward || second.kind != WorkKind::Forward)
    return "orders forward computations only";
  if (first.microbatch == second.microbatch)
    return "needs one computation of each call counter on each mesh";
  return std::nullopt;
}

static bool mustPrecede(const WorkItem &first, const WorkItem &second,
                        const MeshPosition &mesh) {
  int64_t own = *mesh.number;
  if (first.microbatch == own || second.microbatch == own)
    return first.microbatch == own;
  bool onSameSide = (first.microbatch < own) == (second.microbatch < own);
  return onSameSide ? first.microbatch > second.microbatch
                    : first.microbatch < second.microbatch;
}

const Schedule meshwright::kParallelPipelinesWithWrapAround = {
    "ParallelPipelinesWithWrapAround",
    "a pipeline starts on each mesh of a ring", "the Shardy MPMD project",
    mustPrecede, findProblem};
