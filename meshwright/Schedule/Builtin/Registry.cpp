//===- Registry.cpp - The list of schedules -------------------------------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

#include "meshwright/Schedule/Builtin/BuiltinSchedules.h"
#include "meshwright/Text/NearestName.h"
#include "llvm/ADT/SmallVectorExtras.h"
#include "llvm/ADT/StringExtras.h"

using namespace meshwright;

static const Schedule *const kSchedules[] = {
#define MESHWRIGHT_SCHEDULE(name) &(name),
#include "meshwright/Schedule/Builtin/BuiltinSchedules.def"
#undef MESHWRIGHT_SCHEDULE
};

llvm::ArrayRef<const Schedule *> meshwright::getSchedules() {
  return kSchedules;
}

const Schedule *meshwright::findSchedule(llvm::StringRef name) {
  name.consume_front("builtin:");
  for (const Schedule *schedule : kSchedules)
    if (schedule->name.equals_insensitive(name))
      return schedule;
  return nullptr;
}

/// `NAME:TOWERS`, where a number alone is no tower.
static std::pair<llvm::StringRef, llvm::StringRef>
splitTowers(llvm::StringRef text) {
  llvm::StringRef rest = text;
  rest.consume_front("builtin:");
  auto [name, towers] = rest.split(':');
  if (int64_t number; !towers.getAsInteger(10, number))
    towers = "";
  return {name, towers};
}

llvm::Expected<NamedSchedule>
meshwright::parseScheduleName(llvm::StringRef text) {
  NamedSchedule found{findSchedule(text), 1, {}};
  auto [owner, towers] = splitTowers(text);
  const Schedule *named = towers.empty() ? nullptr : findSchedule(owner);
  if (named && named->takesTowers) {
    llvm::Expected<StageGraph> graph = parseStageGraph(towers);
    if (!graph)
      return graph.takeError();
    return NamedSchedule{named, 1, std::move(*graph)};
  }
  if (named && towers.contains(':'))
    return llvm::createStringError(
        "schedule " + named->name +
        " supports one chain of stages; take Towers, where each tower has a "
        "schedule, or auto");
  auto [name, count] = text.rsplit(':');
  if (!found.schedule && !count.getAsInteger(10, found.sequenceChunks))
    found.schedule = findSchedule(name);
  if (!found.schedule)
    return llvm::createStringError("unknown pipeline schedule '" + text +
                                   "', " + listSchedules(text));
  if (found.sequenceChunks == 1)
    return found;
  // As many units as chunks, which any number of them divides.
  PlanShape shape{1, std::max<int64_t>(1, found.sequenceChunks),
                  found.schedule->fewestChunks, found.sequenceChunks};
  if (llvm::Error error = found.schedule->checkShape(shape))
    return error;
  return found;
}

std::string meshwright::listSchedules(llvm::StringRef unknown) {
  unknown.consume_front("builtin:");
  auto names = llvm::map_to_vector(
      kSchedules, [](const Schedule *schedule) -> llvm::StringRef {
        return schedule->name;
      });
  std::string text = "known are " + llvm::join(names, ", ") + ", and file:PATH";
  if (llvm::StringRef nearest = findNearest(unknown, names); !nearest.empty())
    text += "; did you mean " + nearest.str() + "?";
  return text;
}
