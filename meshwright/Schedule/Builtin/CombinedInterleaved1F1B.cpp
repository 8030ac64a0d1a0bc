//===- CombinedInterleaved1F1B.cpp - The same over several chunks ---------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// Interleaved1F1B, whose forwards and backwards are of different stages wherever
// they alternate, with the two in one overlapped step.
//
//===----------------------------------------------------------------------===//

#include "meshwright/Schedule/Builtin/Alternate.h"
#include "meshwright/Schedule/Builtin/BuiltinSchedules.h"

using namespace meshwright;

static llvm::Expected<Plan> makePlan(const PlanShape &shape) {
  constexpr llvm::StringLiteral kName = "CombinedInterleaved1F1B";
  llvm::Expected<int64_t> group = findGroupSize(kName, shape);
  if (!group)
    return group.takeError();
  Plan plan;
  for (int64_t mesh = 0; mesh < shape.meshes; ++mesh) {
    int64_t warmUp = (shape.chunks - 1) * *group;
    int64_t lead = warmUp + 2 * (shape.meshes - 1 - mesh) + 1;
    plan.meshes.push_back(alternate(
        mesh, shape, *group, {lead, /*lag=*/std::nullopt, /*overlaps=*/true}));
  }
  return plan;
}

const Schedule meshwright::kCombinedInterleaved1F1B = {
    "CombinedInterleaved1F1B",
    "COMBINED_INTERLEAVED_1F1B",
    "the same over several stages on each mesh",
    "Meshwright, after the combined 1F1B of Megatron-LM",
    makePlan,
    /*getConstraints=*/nullptr,
    /*findProblem=*/nullptr,
    /*splitsBackward=*/false,
    /*usualChunks=*/2,
    /*fewestChunks=*/2,
    /*mostChunks=*/kAnyChunks};
