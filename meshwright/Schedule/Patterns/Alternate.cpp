//===- Alternate.cpp - Forwards and backwards in turn ---------------------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

#include "meshwright/Schedule/Patterns/Alternate.h"
#include "llvm/Support/FormatVariadic.h"
#include <algorithm>

using namespace meshwright;

std::vector<ChunkOfMicrobatch>
meshwright::numberUnits(int64_t microbatches, int64_t chunks, int64_t group) {
  std::vector<ChunkOfMicrobatch> units;
  units.reserve(microbatches * chunks);
  for (int64_t begin = 0; begin < microbatches; begin += group)
    for (int64_t chunk = 0; chunk < chunks; ++chunk)
      for (int64_t i = begin; i < std::min(begin + group, microbatches); ++i)
        units.push_back({i, chunk});
  return units;
}

ActionList meshwright::alternate(int64_t index, const PlanShape &shape,
                                 int64_t group,
                                 const Alternation &alternation) {
  auto units = numberUnits(shape.microbatches, shape.chunks, group);
  auto count = static_cast<int64_t>(units.size());
  int64_t lead = std::clamp<int64_t>(alternation.lead, 1, count);
  ActionList list;
  list.reserve(count * (alternation.lag ? 3 : 2));
  auto forward = [&](int64_t unit) {
    auto [microbatch, chunk] = units[unit];
    list.push_back(
        {chunk * shape.meshes + index, ActionKind::Forward, microbatch});
  };
  auto backward = [&](int64_t unit, ActionKind kind) {
    auto [microbatch, chunk] = units[unit];
    // The chunks of a sequence have their backward work in reverse order.
    int64_t part = microbatch % shape.sequenceChunks;
    microbatch += shape.sequenceChunks - 1 - 2 * part;
    chunk = shape.chunks - 1 - chunk;
    list.push_back({chunk * shape.meshes + index, kind, microbatch});
  };

  for (int64_t unit = 0; unit < lead; ++unit)
    forward(unit);
  for (int64_t unit = 0; unit < count; ++unit) {
    if (alternation.overlaps && lead + unit < count) {
      forward(lead + unit);
      list.back().joinsNext = true;
      backward(unit, ActionKind::Backward);
      continue;
    }
    backward(unit, alternation.lag ? ActionKind::Input : ActionKind::Backward);
    if (alternation.lag && unit >= *alternation.lag)
      backward(unit - *alternation.lag, ActionKind::Weight);
    if (lead + unit < count)
      forward(lead + unit);
  }
  if (alternation.lag)
    for (int64_t unit = std::max<int64_t>(0, count - *alternation.lag);
         unit < count; ++unit)
      backward(unit, ActionKind::Weight);
  return list;
}

Plan meshwright::alternateOnAll(
    const PlanShape &shape, int64_t group,
    llvm::function_ref<Alternation(int64_t)> choose) {
  Plan plan;
  for (int64_t mesh = 0; mesh < shape.meshes; ++mesh)
    plan.meshes.push_back(alternate(mesh, shape, group, choose(mesh)));
  return plan;
}

/// The size of the equal rounds that the microbatches make, if they do.
static std::optional<int64_t> getRoundSize(int64_t microbatches,
                                           int64_t meshes) {
  int64_t rounds = std::max<int64_t>(1, microbatches / meshes);
  if (microbatches % rounds != 0)
    return std::nullopt;
  return microbatches / rounds;
}

llvm::Expected<int64_t> meshwright::findGroupSize(llvm::StringRef schedule,
                                                  const PlanShape &shape) {
  // Whole microbatches make rounds of at least a unit for each mesh.
  int64_t parts = shape.sequenceChunks;
  int64_t microbatches = shape.microbatches / parts;
  int64_t least = (shape.meshes + parts - 1) / parts;
  if (auto size = getRoundSize(microbatches, least))
    return *size * parts;
  int64_t below = microbatches, above = microbatches;
  while (!getRoundSize(below, least))
    --below;
  while (!getRoundSize(above, least))
    ++above;
  return llvm::createStringError(llvm::formatv(
      "schedule {0}: {1} microbatches cannot be divided into {2} equal "
      "rounds over {3} meshes; take {4} or {5} microbatches",
      schedule, microbatches, microbatches / least, shape.meshes, below,
      above));
}

llvm::Expected<Plan> meshwright::interleave(llvm::StringRef schedule,
                                            const PlanShape &shape,
                                            const Interleaving &interleaving) {
  llvm::Expected<int64_t> group = findGroupSize(schedule, shape);
  if (!group)
    return group.takeError();
  int64_t warmUp = (shape.chunks - 1) * *group + shape.sequenceChunks +
                   interleaving.moreWarmUp;
  return alternateOnAll(shape, *group, [&](int64_t mesh) {
    return Alternation{warmUp + 2 * (shape.meshes - 1 - mesh),
                       /*lag=*/std::nullopt, interleaving.overlaps};
  });
}
