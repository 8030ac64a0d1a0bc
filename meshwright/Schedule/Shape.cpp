//===- Shape.cpp - Which pipelines a schedule can have --------------------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

#include "meshwright/Schedule/Schedule.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/MathExtras.h"

using namespace meshwright;

static std::string describeChunks(const Schedule &schedule) {
  std::string number = std::to_string(schedule.fewestChunks);
  if (schedule.mostChunks == kAnyChunks)
    number = "at least " + number;
  else if (schedule.fewestChunks != schedule.mostChunks)
    return number + " to " + std::to_string(schedule.mostChunks) + " stages";
  return number + (schedule.fewestChunks == 1 ? " stage" : " stages");
}

/// A graph has stages of its own number, on as many meshes.
static llvm::Error checkGraph(const Schedule &schedule,
                              const PlanShape &shape) {
  if (int64_t needed = shape.graph.countMeshes(); needed != shape.meshes)
    return llvm::createStringError(
        llvm::formatv("schedule {0} has towers on {1} meshes, but there are "
                      "{2}; give each mesh a tower, and each tower its meshes",
                      schedule.name, needed, shape.meshes));
  return llvm::Error::success();
}

static llvm::Error checkChunks(const Schedule &schedule, int64_t chunks) {
  if (chunks >= schedule.fewestChunks && chunks <= schedule.mostChunks)
    return llvm::Error::success();
  return llvm::createStringError(
      llvm::formatv("schedule {0} needs {1} on each mesh, got {2}",
                    schedule.name, describeChunks(schedule), chunks));
}

/// All microbatches have their sequence in as many chunks.
static llvm::Error checkSequenceChunks(const Schedule &schedule,
                                       const PlanShape &shape) {
  if (shape.sequenceChunks < 1 ||
      (shape.sequenceChunks > 1 && !schedule.takesSequenceChunks))
    return llvm::createStringError(
        llvm::formatv("schedule {0} cannot have sequences in {1} chunks; take "
                      "Seq1F1B or SlimPipe, with at least one chunk",
                      schedule.name, shape.sequenceChunks));
  if (shape.microbatches % shape.sequenceChunks == 0)
    return llvm::Error::success();
  return llvm::createStringError(llvm::formatv(
      "schedule {0} has {1} chunks of each microbatch, but there are {2} "
      "units, which is not a multiple; call each chunk, with the counter "
      "microbatch * {1} + chunk",
      schedule.name, shape.sequenceChunks, shape.microbatches));
}

/// Whether there are more actions than the limit; counted so that nothing
/// overflows.
static bool hasTooManyActions(const Schedule &schedule,
                              const PlanShape &shape) {
  int64_t perUnit = schedule.splitsBackward || schedule.takesTowers ? 3 : 2;
  int64_t count = perUnit;
  int64_t stages =
      shape.graph.isChain() ? shape.chunks : shape.graph.countStages();
  int64_t meshes = shape.graph.isChain() ? shape.meshes : 1;
  for (int64_t factor : {meshes, shape.microbatches, stages})
    if (llvm::MulOverflow(count, factor, count) || count > kMostActions)
      return true;
  return false;
}

llvm::Error Schedule::checkShape(const PlanShape &shape) const {
  if (shape.meshes < 1 || shape.microbatches < 1)
    return llvm::createStringError(
        llvm::formatv("schedule {0} needs at least one mesh and one "
                      "microbatch, got {1} and {2}",
                      name, shape.meshes, shape.microbatches));
  if (llvm::Error error = shape.graph.isChain()
                              ? checkChunks(*this, shape.chunks)
                              : checkGraph(*this, shape))
    return error;
  if (llvm::Error error = checkSequenceChunks(*this, shape))
    return error;
  if (!hasTooManyActions(*this, shape))
    return llvm::Error::success();
  return llvm::createStringError(llvm::formatv(
      "schedule {0} of {1} meshes, {2} microbatches and {3} "
      "stages on each mesh may have more than {4} actions; take "
      "fewer meshes or microbatches",
      name, shape.meshes, shape.microbatches, shape.chunks, kMostActions));
}

llvm::Expected<Plan> Schedule::makePlan(const PlanShape &shape) const {
  if (llvm::Error error = checkShape(shape))
    return error;
  llvm::Expected<Plan> plan = listPlan(shape);
  if (plan) {
    plan->sequenceChunks = shape.sequenceChunks;
    plan->graph = shape.graph;
  }
  return plan;
}

int64_t meshwright::placeStage(Placement placement, int64_t meshes,
                               int64_t stage) {
  return placement == Placement::Folded && stage >= meshes
             ? 2 * meshes - 1 - stage
             : stage % meshes;
}

llvm::Expected<std::vector<int64_t>>
Schedule::placeStages(int64_t meshes, int64_t stages) const {
  if (llvm::Error error = checkShape({meshes, 1, fewestChunks}))
    return error;
  if (stages < 1 || stages % meshes != 0)
    return llvm::createStringError(
        llvm::formatv("schedule {0} needs the same number of stages on each "
                      "mesh; {1} cannot be divided evenly over {2} meshes",
                      name, stages, meshes));
  if (llvm::Error error = checkShape({meshes, 1, stages / meshes}))
    return error;
  std::vector<int64_t> places;
  for (int64_t stage = 0; stage < stages; ++stage)
    places.push_back(placeStage(placement, meshes, stage));
  return places;
}
