//===- Registry.cpp - The list of schedules -------------------------------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

#include "meshwright/Schedule/Builtin/BuiltinSchedules.h"
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

std::string meshwright::listSchedules(llvm::StringRef unknown) {
  unknown.consume_front("builtin:");
  std::string text = "known are ";
  llvm::StringRef nearest;
  // A slip changes a third of a name at most.
  unsigned best = unknown.size() / 3 + 2;
  for (const Schedule *schedule : kSchedules) {
    text += schedule->name.str() + ", ";
    unsigned distance = unknown.edit_distance_insensitive(schedule->name);
    if (distance < best) {
      best = distance;
      nearest = schedule->name;
    }
  }
  text += "and file:PATH";
  if (!nearest.empty())
    text += "; did you mean " + nearest.str() + "?";
  return text;
}
