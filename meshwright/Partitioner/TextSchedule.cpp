//===- TextSchedule.cpp - Schedules for those who do not link MLIR --------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

#include "meshwright/Partitioner/TextSchedule.h"
#include "meshwright/Optimize/Scheduler/ScheduleOption.h"
#include "meshwright/Schedule/Layout.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/Sequence.h"
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
  // Stages without work leave numbers out.
  int64_t numStages = places.rbegin()->first + 1;
  if (numRows != meshes || numStages != stages)
    return llvm::createStringError(
        llvm::formatv("{0} has {1} rows and {2} stages; expected a row for "
                      "each of {3} meshes, and {4} stages",
                      option.getName(), numRows, numStages, meshes, stages));
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

std::optional<std::vector<std::string>>
meshwright::readLayout(std::string_view text, std::string &error) {
  return take(parseLayout(text), error);
}

/// The order of the program is no constraint.
static bool isRelation(const Schedule &schedule) {
  return schedule.getConstraints && &schedule != findSchedule("none");
}

std::vector<TextScheduleInfo> meshwright::listTextSchedules() {
  std::vector<TextScheduleInfo> infos;
  for (const Schedule *schedule : getSchedules())
    infos.push_back({schedule->name.str(), schedule->registryName.str(),
                     isRelation(*schedule),
                     schedule->need != PipelineNeed::Nothing,
                     schedule->source.str()});
  return infos;
}

/// Where each microbatch is in the backward work of the first stage.
static std::map<int64_t, int64_t> placeBackward(const Plan &plan) {
  std::map<int64_t, int64_t> places;
  for (const ActionList &list : plan.meshes)
    for (const Action &action : list)
      if (action.stage == 0 && (action.kind == ActionKind::Backward ||
                                action.kind == ActionKind::Input))
        places.try_emplace(action.microbatch, places.size());
  return places;
}

std::optional<std::vector<int64_t>>
meshwright::orderBackward(std::string_view schedule, int64_t count,
                          int64_t first, std::string &error) {
  std::optional<ScheduleOption> option = take(parseSchedule(schedule), error);
  if (!option)
    return std::nullopt;
  auto numbers = llvm::to_vector(llvm::seq<int64_t>(0, count));
  if (option->schedule) {
    if (option->schedule->backwardRunsLastFirst)
      std::reverse(numbers.begin(), numbers.end());
  } else {
    std::map<int64_t, int64_t> places = placeBackward(*option->plan);
    llvm::stable_sort(numbers, [&](int64_t a, int64_t b) {
      auto place = [&](int64_t number) {
        auto found = places.find(first + number);
        return found == places.end() ? number : found->second;
      };
      return place(a) < place(b);
    });
  }
  return std::vector<int64_t>(numbers.begin(), numbers.end());
}

static WorkItem makeItem(const TextWorkItem &item) {
  WorkKind kind = WorkKind::Forward;
  if (item.transposeCount != 0)
    kind = item.isWeightGradient ? WorkKind::Weight : WorkKind::Backward;
  return {kind, item.microbatch, item.stage};
}

std::optional<bool> meshwright::mustPrecede(std::string_view name,
                                            int64_t meshes,
                                            const TextWorkItem &first,
                                            const TextWorkItem &second,
                                            std::string &error) {
  const Schedule *schedule = findSchedule(name);
  if (!schedule || !isRelation(*schedule)) {
    error =
        "schedule " + std::string(name) + " is no relation of two fragments";
    return std::nullopt;
  }
  if (schedule->need != PipelineNeed::Nothing) {
    if (!first.stage || !second.stage) {
      error = "has no stage";
      return std::nullopt;
    }
    if (meshes < 1) // The scheduler says what is wrong.
      return false;
  } else if (first.transposeCount != second.transposeCount) {
    return first.transposeCount < second.transposeCount;
  }
  MeshPosition position{first.stage.value_or(0), meshes, first.stage};
  WorkItem a = makeItem(first), b = makeItem(second);
  if (schedule->findProblem)
    if (std::optional<std::string> problem =
            schedule->findProblem(a, b, position)) {
      error = "schedule " + schedule->name.str() + " " + *problem;
      return std::nullopt;
    }
  return schedule->getConstraints(position).mustPrecede(a, b);
}
