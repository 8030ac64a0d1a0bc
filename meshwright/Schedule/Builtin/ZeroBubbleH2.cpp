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

#include "meshwright/Schedule/Builtin/BuiltinSchedules.h"
#include "meshwright/Schedule/Patterns/Alternate.h"

using namespace meshwright;

/// Forwards before the first backward on mesh `index`, for a transfer that
/// lasts `halves` halves of a piece of work.
static int64_t countWarmUp(int64_t index, int64_t count, int64_t halves) {
  int64_t remaining = count - index;
  return 2 * remaining - 1 + halves * (remaining - 1);
}

/// The rows from B to F and from F to B hold after the warm-up only. That is
/// where the microbatch ahead always is in the one, and what the warm-up says
/// anyway in the other.
template <int64_t halves>
static Constraints getZeroBubbleH2Constraints(const MeshPosition &mesh) {
  constexpr WorkKind F = WorkKind::Forward, B = WorkKind::Backward,
                     W = WorkKind::Weight;
  int64_t warmUp = countWarmUp(mesh.index, mesh.count, halves);
  int64_t mirrored =
      countWarmUp(mesh.count - mesh.index - 1, mesh.count, halves);
  Constraints constraints;
  constraints.warmUps = {{F, B, warmUp}, {F, W, warmUp}};
  constraints.offsets = {{F, B, warmUp - 1},
                         {B, F, -warmUp},
                         {B, W, mirrored - 1},
                         {W, B, -mirrored}};
  return constraints;
}

template <int64_t halves>
static llvm::Expected<Plan> makeZeroBubbleH2Plan(const PlanShape &shape) {
  return alternateOnAll(shape, shape.microbatches, [&](int64_t mesh) {
    int64_t mirrored = shape.meshes - 1 - mesh;
    return Alternation{/*lead=*/countWarmUp(mesh, shape.meshes, halves),
                       /*lag=*/countWarmUp(mirrored, shape.meshes, halves) - 1};
  });
}

static constexpr llvm::StringLiteral kZeroBubblePaper =
    "Qi et al., Zero Bubble Pipeline Parallelism, arXiv:2401.10241";

const Schedule meshwright::kZeroBubbleH2ZeroTxLatency =
    Schedule{"ZeroBubbleH2ZeroTxLatency", "ZERO_BUBBLE_H2_ZERO_TX_LATENCY",
             "no bubble if transfers take no time", kZeroBubblePaper,
             makeZeroBubbleH2Plan<0>}
        .with(&Schedule::getConstraints, getZeroBubbleH2Constraints<0>)
        .with(&Schedule::splitsBackward, true);
const Schedule meshwright::kZeroBubbleH2HalfTxLatency =
    Schedule{"ZeroBubbleH2HalfTxLatency", "ZERO_BUBBLE_H2_HALF_TX_LATENCY",
             "no bubble if transfers take half as long as work",
             kZeroBubblePaper, makeZeroBubbleH2Plan<1>}
        .with(&Schedule::getConstraints, getZeroBubbleH2Constraints<1>)
        .with(&Schedule::splitsBackward, true);
const Schedule meshwright::kZeroBubbleH2FullTxLatency =
    Schedule{"ZeroBubbleH2FullTxLatency", "ZERO_BUBBLE_H2_FULL_TX_LATENCY",
             "no bubble if transfers take as long as work", kZeroBubblePaper,
             makeZeroBubbleH2Plan<2>}
        .with(&Schedule::getConstraints, getZeroBubbleH2Constraints<2>)
        .with(&Schedule::splitsBackward, true);
