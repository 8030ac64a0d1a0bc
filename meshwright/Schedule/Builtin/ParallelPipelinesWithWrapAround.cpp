//===- ParallelPipelinesWithWrapAround.cpp - A pipeline per mesh ----------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// Inference on a ring: microbatch k enters at mesh k, so each mesh k starts
// with its own and then takes what comes round: k, k - 1, ..., 0, last, ..., k
// + 1.
//
//===----------------------------------------------------------------------===//

#include "meshwright/Schedule/Builtin/BuiltinSchedules.h"

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

static Constraints
getParallelPipelinesWithWrapAroundConstraints(const MeshPosition &mesh) {
  Constraints constraints;
  constraints.findPlace = [own =
                               mesh.number.value_or(0)](const WorkItem &item) {
    int64_t turn = item.microbatch == own ? 0 : item.microbatch < own ? 1 : 2;
    return Place{0, {turn, -item.microbatch}};
  };
  return constraints;
}

/// As many microbatches as meshes, each through as many stages.
static llvm::Expected<Plan>
makeParallelPipelinesWithWrapAroundPlan(const PlanShape &shape) {
  constexpr llvm::StringLiteral kName = "ParallelPipelinesWithWrapAround";
  if (shape.microbatches != shape.meshes)
    return llvm::createStringError(
        "schedule " + kName + " starts one microbatch on each of " +
        std::to_string(shape.meshes) + " meshes, got " +
        std::to_string(shape.microbatches) + " microbatches");
  Plan plan;
  for (int64_t mesh = 0; mesh < shape.meshes; ++mesh) {
    ActionList &list = plan.meshes.emplace_back();
    for (int64_t stage = 0; stage < shape.meshes; ++stage)
      list.push_back({stage, ActionKind::Forward,
                      (mesh - stage + shape.meshes) % shape.meshes});
  }
  return plan;
}

const Schedule meshwright::kParallelPipelinesWithWrapAround =
    Schedule{"ParallelPipelinesWithWrapAround",
             "PARALLEL_PIPELINES_WITH_WRAP_AROUND",
             "a pipeline starts on each mesh of a ring",
             "the Shardy MPMD project", makeParallelPipelinesWithWrapAroundPlan}
        .with(&Schedule::getConstraints,
              getParallelPipelinesWithWrapAroundConstraints)
        .with(&Schedule::findProblem, findProblem);
