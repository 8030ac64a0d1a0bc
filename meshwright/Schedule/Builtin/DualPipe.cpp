//===- DualPipe.cpp - Two pipelines in opposite directions ----------------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// The model is there twice: stage j on mesh j, and its copy, stage P + j, on
// mesh P - 1 - j. Half of the microbatches go down the meshes, the others up,
// and where they meet, the forward of one runs with the backward of another.
// The program must add the gradients of the two copies.
//
//===----------------------------------------------------------------------===//

#include "meshwright/Schedule/Builtin/BuiltinSchedules.h"
#include "meshwright/Schedule/Patterns/DualLane.h"
#include "llvm/Support/FormatVariadic.h"

using namespace meshwright;

static llvm::Expected<Plan> makeDualPipePlan(const PlanShape &shape) {
  int64_t meshes = shape.meshes, perLane = shape.microbatches / 2;
  if (meshes % 2 != 0 || shape.microbatches % 2 != 0 || perLane < meshes)
    return llvm::createStringError(
        llvm::formatv("schedule DualPipe needs an even number of meshes, and "
                      "an even number of microbatches that is at least twice "
                      "as large; got {0} and {1}",
                      meshes, shape.microbatches));
  Plan plan;
  for (int64_t mesh = 0; mesh < meshes; ++mesh) {
    Lane down{mesh, 0}, up{2 * meshes - 1 - mesh, perLane};
    bool isUpper = mesh < meshes / 2;
    plan.meshes.push_back(
        listDualLanes(std::min(mesh, meshes - 1 - mesh), meshes / 2, perLane,
                      isUpper ? down : up, isUpper ? up : down));
  }
  return plan;
}

const Schedule meshwright::kDualPipe =
    Schedule{
        "DualPipe", "DUAL_PIPE",
        "two copies of the model, entered from both ends, in overlapped steps",
        "DeepSeek-AI, DeepSeek-V3 Technical Report, arXiv:2412.19437",
        makeDualPipePlan}
        .with(&Schedule::splitsBackward, true)
        .withChunks(/*usual=*/2, /*fewest=*/2, /*most=*/2)
        .with(&Schedule::placement, Placement::Folded)
        .with(&Schedule::needsSumsApart, true);
