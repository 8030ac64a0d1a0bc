//===- ZeroBubbleV.cpp - Zero bubble with the pipeline folded -------------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// Two stages on each mesh, placed like a V: down the meshes and up again. The
// first mesh also has the last stage, so its backward work begins early, and
// all meshes keep the same memory: that of 1F1B on its first mesh.
//
//===----------------------------------------------------------------------===//

#include "meshwright/Schedule/Builtin/BuiltinSchedules.h"
#include <algorithm>

using namespace meshwright;

static constexpr ActionKind F = ActionKind::Forward, I = ActionKind::Input,
                            W = ActionKind::Weight;

namespace {
/// One arm of the V on one mesh: each action takes the next microbatch, and is
/// left out if there is none.
class Arm {
public:
  Arm(int64_t stage, int64_t microbatches, ActionList &list)
      : stage(stage), microbatches(microbatches), list(list) {}

  void run(ActionKind kind) {
    if (int64_t microbatch = count(kind)++; microbatch < microbatches)
      list.push_back({stage, kind, microbatch});
  }
  int64_t &count(ActionKind kind) { return counts[static_cast<int>(kind)]; }
  int64_t countLeft(ActionKind kind) { return microbatches - count(kind); }

private:
  int64_t stage, microbatches;
  ActionList &list;
  int64_t counts[4] = {};
};

struct Turn {
  Arm &arm;
  ActionKind kind;
};
} // namespace

/// Takes all turns that many times. Rounds in which no turn has a microbatch left
/// only count: for few microbatches on many meshes that is most of them.
static void repeat(int64_t rounds, std::initializer_list<Turn> turns) {
  int64_t left = 0;
  for (Turn turn : turns)
    left = std::max(left, turn.arm.countLeft(turn.kind));
  int64_t taken = std::min(rounds, left);
  for (int64_t round = 0; round < taken; ++round)
    for (Turn turn : turns)
      turn.arm.run(turn.kind);
  for (Turn turn : turns)
    turn.arm.count(turn.kind) += rounds - taken;
}

static ActionList listMesh(int64_t mesh, const PlanShape &shape) {
  int64_t meshes = shape.meshes, following = meshes - mesh;
  // The shape is that of a pipeline that fills; what is too much is left out.
  int64_t full = std::max(shape.microbatches, 2 * meshes - 1);
  ActionList list;
  Arm down(mesh, shape.microbatches, list);
  Arm up(2 * meshes - 1 - mesh, shape.microbatches, list);
  repeat(2 * following - 1, {{down, F}});
  repeat(mesh, {{up, F}, {down, F}});
  repeat(following, {{up, F}, {up, I}, {up, W}});
  repeat(full - meshes,
         {{down, F}, {down, I}, {down, W}, {up, F}, {up, I}, {up, W}});
  repeat(mesh, {{down, I}, {up, I}});
  repeat(following, {{down, I}, {down, W}});
  for (Arm *arm : {&up, &down})
    repeat(arm->count(I) - arm->count(W), {{*arm, W}});
  return list;
}

static llvm::Expected<Plan> makeZeroBubbleVPlan(const PlanShape &shape) {
  Plan plan;
  for (int64_t mesh = 0; mesh < shape.meshes; ++mesh)
    plan.meshes.push_back(listMesh(mesh, shape));
  return plan;
}

const Schedule meshwright::kZeroBubbleV =
    Schedule{"ZeroBubbleV", "ZERO_BUBBLE_V",
             "two stages on each mesh, placed like a V, without bubble",
             "Qi et al., Zero Bubble Pipeline Parallelism, arXiv:2401.10241",
             makeZeroBubbleVPlan}
        .with(&Schedule::splitsBackward, true)
        .withChunks(/*usual=*/2, /*fewest=*/2, /*most=*/2)
        .with(&Schedule::placement, Placement::Folded);
