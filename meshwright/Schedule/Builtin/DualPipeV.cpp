//===- DualPipeV.cpp - A folded pipeline with overlapped steps ------------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// Two stages on each mesh, placed like a V. A microbatch on its way down and
// one on its way back meet on every mesh, where the forward of the one runs
// with the backward of the other, to hide the communication of experts.
//
//===----------------------------------------------------------------------===//

#include "meshwright/Schedule/Builtin/BuiltinSchedules.h"
#include "meshwright/Schedule/Patterns/DualLane.h"
#include "llvm/Support/FormatVariadic.h"

using namespace meshwright;

static llvm::Expected<Plan> makeDualPipeVPlan(const PlanShape &shape) {
  if (shape.microbatches < 2 * shape.meshes)
    return llvm::createStringError(
        llvm::formatv("schedule DualPipeV needs at least {0} microbatches on "
                      "{1} meshes, got {2}",
                      2 * shape.meshes, shape.meshes, shape.microbatches));
  Plan plan;
  for (int64_t mesh = 0; mesh < shape.meshes; ++mesh)
    plan.meshes.push_back(listDualLanes(mesh, shape.meshes, shape.microbatches,
                                        {mesh, 0},
                                        {2 * shape.meshes - 1 - mesh, 0}));
  return plan;
}

const Schedule meshwright::kDualPipeV =
    Schedule{"DualPipeV", "DUAL_PIPE_V",
             "two stages on each mesh, placed like a V, in overlapped steps",
             "DeepSeek-AI, DeepSeek-V3 Technical Report, arXiv:2412.19437, cut "
             "in half",
             makeDualPipeVPlan}
        .with(&Schedule::splitsBackward, true)
        .withChunks(/*usual=*/2, /*fewest=*/2, /*most=*/2)
        .with(&Schedule::placement, Placement::Folded);
