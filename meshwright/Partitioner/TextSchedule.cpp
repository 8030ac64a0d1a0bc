//===- TextSchedule.cpp - Schedules for those who do not link MLIR --------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

#include "meshwright/Partitioner/TextSchedule.h"
#include "meshwright/Optimize/Scheduler/ScheduleOption.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/FormatVariadic.h"

using namespace meshwright;
using namespace mlir::mpmd;

using Places = std::map<int64_t, int64_t>;

/// What an expected value holds, or its error as text.
template <typename T>
static std::optional<T> take(llvm::Expected<T> value, std::string &error) {
  if (value)
    return std::move(*value);
  error = llvm::toString(value.takeError());
  return std::nullopt;
}

std::optional<bool> meshwright::splitsBackward(std::string_view schedule,
                                               std::string &error) {
  std::optional<ScheduleOption> option = take(parseSchedule(schedule), error);
  if (!option)
    return std::nullopt;
  return option->splitsBackward();
}

static llvm::Expected<Places> place(const ScheduleOption &option,
                                    int64_t meshes, int64_t stages) {
  Places places;
  if (option.schedule) {
    auto found = option.schedule->placeStages(meshes, stages);
    if (!found)
      return found.takeError();
    for (auto [stage, mesh] : llvm::enumerate(*found))
      places[static_cast<int64_t>(stage)] = mesh;
    return places;
  }
  for (auto [mesh, list] : llvm::enumerate(option.plan->meshes))
    for (const Action &action : list)
      places[action.stage] = static_cast<int64_t>(mesh);
  auto numRows = static_cast<int64_t>(option.plan->meshes.size());
  auto numStages = static_cast<int64_t>(places.size());
  if (numRows != meshes || numStages != stages)
    return llvm::createStringError(
        llvm::formatv("{0} has {1} rows and {2} stages; expected a row for "
                      "each of {3} meshes, and {4} stages",
                      option.getName(), numRows, numStages, meshes, stages)
            .str());
  return places;
}

std::optional<Places> meshwright::placeStages(std::string_view schedule,
                                              int64_t meshes, int64_t stages,
                                              std::string &error) {
  std::optional<ScheduleOption> option = take(parseSchedule(schedule), error);
  if (!option)
    return std::nullopt;
  return take(place(*option, meshes, stages), error);
}
