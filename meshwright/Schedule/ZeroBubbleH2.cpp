//===- ZeroBubbleH2.cpp - More microbatches in flight, no bubble ----------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// With about twice the memory of 1F1B the warm-up is long enough for the first
// backward to come home before the mesh runs dry. How many microbatches that
// takes depends on how long a transfer lasts next to a piece of work: nothing,
// half as long, or as long.
//
//===----------------------------------------------------------------------===//

#include "meshwright/Schedule/BuiltinSchedules.h"

using namespace meshwright;

/// Forwards before the first backward on mesh `index`, for a transfer that
/// lasts `halves` halves of a piece of work.
static int64_t countWarmUp(int64_t index, int64_t count, int64_t halves) {
  int64_t remaining = count - index;
  return 2 * remaining - 1 + halves * (remaining - 1);
}

template <int64_t halves>
static bool mustPrecede(const WorkItem &first, const WorkItem &second,
                        const MeshPosition &mesh) {
  int64_t ahead = first.microbatch - second.microbatch;
  int64_t warmUp = countWarmUp(mesh.index, mesh.count, halves);
  int64_t mirrored =
      countWarmUp(mesh.count - mesh.index - 1, mesh.count, halves);
  auto is = [&](WorkKind a, WorkKind b) {
    return first.kind == a && second.kind == b;
  };
  if (is(WorkKind::Forward, WorkKind::Backward))
    return first.microbatch < warmUp || ahead == warmUp - 1;
  if (is(WorkKind::Forward, WorkKind::Weight))
    return first.microbatch < warmUp;
  if (is(WorkKind::Backward, WorkKind::Forward))
    return second.microbatch >= warmUp && ahead == -warmUp;
  if (is(WorkKind::Backward, WorkKind::Weight))
    return ahead == mirrored - 1;
  if (is(WorkKind::Weight, WorkKind::Backward))
    return ahead == -mirrored;
  return false;
}

static constexpr llvm::StringLiteral kSource =
    "Qi et al., Zero Bubble Pipeline Parallelism, arXiv:2401.10241";

const Schedule meshwright::kZeroBubbleH2ZeroTxLatency = {
    "ZeroBubbleH2ZeroTxLatency", "no bubble if transfers take no time", kSource,
    mustPrecede<0>};
const Schedule meshwright::kZeroBubbleH2HalfTxLatency = {
    "ZeroBubbleH2HalfTxLatency",
    "no bubble if transfers take half as long as work", kSource,
    mustPrecede<1>};
const Schedule meshwright::kZeroBubbleH2FullTxLatency = {
    "ZeroBubbleH2FullTxLatency", "no bubble if transfers take as long as work",
    kSource, mustPrecede<2>};
