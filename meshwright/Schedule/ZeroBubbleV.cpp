//===- ZeroBubbleV.cpp - Zero bubble with the pipeline folded -------------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// Two stages on each mesh, placed like a V: down the meshes and up again. The
// first mesh also has the last stage, so its backward work begins early, and
// all meshes keep the same memory: that of 1F1B on its first mesh.
//
//===----------------------------------------------------------------------===//

#include "meshwright/Schedule/Alternate.h"
#include "meshwright/Schedule/BuiltinSchedules.h"
#include <algorithm>

using namespace meshwright;

namespace {
/// One arm of the V on one mesh: each action takes the next microbatch.
class Arm {
public:
  Arm(int64_t stage, ActionList &list) : stage(stage), list(list) {}

  void run(std::initializer_list<ActionKind> kinds) {
    for (ActionKind kind : kinds)
      list.push_back({stage, kind, counts[static_cast<int>(kind)]++});
  }
  int64_t count(ActionKind kind) const {
    return counts[static_cast<int>(kind)];
  }

private:
  int64_t stage;
  ActionList &list;
  int64_t counts[4] = {};
};
} // namespace

static constexpr ActionKind F = ActionKind::Forward, I = ActionKind::Input,
                            W = ActionKind::Weight;

static ActionList listMesh(int64_t mesh, const PlanShape &shape) {
  int64_t meshes = shape.meshes, following = meshes - mesh;
  // The shape is that of a pipeline that fills; what is too much is cut off.
  int64_t full = std::max(shape.microbatches, 2 * meshes - 1);
  ActionList list;
  Arm down(mesh, list), up(2 * meshes - 1 - mesh, list);
  for (int64_t i = 0; i < 2 * following - 1; ++i)
    down.run({F});
  for (int64_t i = 0; i < mesh; ++i) {
    up.run({F});
    down.run({F});
  }
  for (int64_t i = 0; i < following; ++i)
    up.run({F, I, W});
  while (down.count(F) < full || up.count(F) < down.count(F)) {
    if (down.count(F) < full)
      down.run({F});
    down.run({I, W});
    up.run({F, I, W});
  }
  for (int64_t i = 0; i < mesh; ++i) {
    down.run({I});
    up.run({I});
  }
  for (int64_t i = 0; i < following; ++i)
    down.run({I, W});
  for (Arm *arm : {&up, &down})
    while (arm->count(W) < arm->count(I))
      arm->run({W});
  list.erase(std::remove_if(list.begin(), list.end(),
                            [&](const Action &action) {
                              return action.microbatch >= shape.microbatches;
                            }),
             list.end());
  return list;
}

static llvm::Expected<Plan> makePlan(const PlanShape &shape) {
  if (llvm::Error error = checkShape("ZeroBubbleV", shape, 2, 2))
    return error;
  Plan plan;
  for (int64_t mesh = 0; mesh < shape.meshes; ++mesh)
    plan.meshes.push_back(listMesh(mesh, shape));
  return plan;
}

const Schedule meshwright::kZeroBubbleV = {
    "ZeroBubbleV",
    "two stages on each mesh, placed like a V, without bubble",
    "Qi et al., Zero Bubble Pipeline Parallelism, arXiv:2401.10241",
    makePlan,
    /*getDemands=*/nullptr,
    /*findProblem=*/nullptr,
    /*splitsBackward=*/true,
    /*usualChunks=*/2};
