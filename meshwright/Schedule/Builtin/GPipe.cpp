//===- GPipe.cpp - All forward work, then all backward work ---------------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

#include "meshwright/Schedule/Builtin/BuiltinSchedules.h"
#include "meshwright/Schedule/Patterns/Alternate.h"

using namespace meshwright;

static Constraints getGPipeConstraints(const MeshPosition &) {
  Constraints constraints;
  constraints.findPlace = [](const WorkItem &item) {
    bool isBackward = item.kind != WorkKind::Forward;
    return Place{0, {isBackward, item.microbatch}};
  };
  return constraints;
}

static llvm::Expected<Plan> makeGPipePlan(const PlanShape &shape) {
  return alternateOnAll(shape, shape.microbatches, [&](int64_t) {
    return Alternation{/*lead=*/shape.microbatches, {}};
  });
}

const Schedule meshwright::kGPipe =
    Schedule{"GPipe", "GPIPE",
             "all forward work by microbatch, then all backward work",
             "Huang et al., GPipe, arXiv:1811.06965, section 2.3",
             makeGPipePlan}
        .with(&Schedule::getConstraints, getGPipeConstraints)
        .with(&Schedule::need, PipelineNeed::Nothing);
