//===- Circular.cpp - Several stages on each mesh, in turns ---------------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// With more stages than meshes, as many microbatches as there are meshes (a
// phase) go through all stages before the next phase begins.
//
//===----------------------------------------------------------------------===//

#include "meshwright/Schedule/Builtin/BuiltinSchedules.h"
#include "meshwright/Schedule/Patterns/Alternate.h"
#include "llvm/ADT/STLExtras.h"

using namespace meshwright;

/// Phase, stage, microbatch; all forward work first. Backward work counts the
/// stages down, or everything.
template <bool reversedBackward>
static Constraints getCircularConstraints(const MeshPosition &mesh) {
  Constraints constraints;
  constraints.findPlace =
      [count = mesh.count](const WorkItem &item) -> std::optional<Place> {
    if (!item.stage)
      return std::nullopt;
    int64_t phase = item.microbatch / count;
    if (item.kind == WorkKind::Forward)
      return Place{0, {0, phase, *item.stage, item.microbatch}};
    // Counts down, as the negative does, which the least number has not.
    int64_t down = ~*item.stage;
    if (reversedBackward)
      return Place{0, {1, -phase, down, -item.microbatch}};
    return Place{0, {1, phase, down, item.microbatch}};
  };
  return constraints;
}

template <bool reversedBackward>
static llvm::Expected<Plan> makeCircularPlan(const PlanShape &shape) {
  Plan plan;
  for (int64_t mesh = 0; mesh < shape.meshes; ++mesh) {
    ActionList &list = plan.meshes.emplace_back();
    for (auto [i, chunk] :
         numberUnits(shape.microbatches, shape.chunks, shape.meshes))
      list.push_back({chunk * shape.meshes + mesh, ActionKind::Forward, i});
    auto backward = numberUnits(shape.microbatches, shape.chunks, shape.meshes);
    if (reversedBackward)
      std::reverse(backward.begin(), backward.end());
    for (auto [i, chunk] : backward) {
      int64_t turned = reversedBackward ? chunk : shape.chunks - 1 - chunk;
      list.push_back({turned * shape.meshes + mesh, ActionKind::Backward, i});
    }
  }
  return plan;
}

static constexpr llvm::StringLiteral kMegatronPaper =
    "Narayanan et al., Efficient Large-Scale Language Model Training on GPU "
    "Clusters Using Megatron-LM, arXiv:2104.04473, section 2.2";

const Schedule meshwright::kCircular =
    Schedule{"Circular", "CIRCULAR",
             "stages of a mesh in turns, a phase of microbatches at a time",
             kMegatronPaper, makeCircularPlan<false>}
        .with(&Schedule::getConstraints, getCircularConstraints<false>)
        .withChunks(/*usual=*/2, /*fewest=*/1, /*most=*/kAnyChunks)
        .with(&Schedule::need, PipelineNeed::Count);
const Schedule meshwright::kCircularWithReversedBackward =
    Schedule{"CircularWithReversedBackward", "CIRCULAR_WITH_REVERSED_BACKWARD",
             "Circular, with the backward work in exactly the opposite order",
             kMegatronPaper, makeCircularPlan<true>}
        .with(&Schedule::getConstraints, getCircularConstraints<true>)
        .withChunks(/*usual=*/2, /*fewest=*/1, /*most=*/kAnyChunks)
        .with(&Schedule::need, PipelineNeed::Count)
        .with(&Schedule::needsSumsApart, true)
        .with(&Schedule::backwardRunsLastFirst, true);
