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
