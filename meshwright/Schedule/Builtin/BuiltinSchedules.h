//===- BuiltinSchedules.h - The schedules that Registry.cpp lists ---------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_SCHEDULE_BUILTIN_BUILTINSCHEDULES_H
#define MESHWRIGHT_SCHEDULE_BUILTIN_BUILTINSCHEDULES_H

#include "meshwright/Schedule/Schedule.h"

namespace meshwright {

#define MESHWRIGHT_SCHEDULE(name) extern const Schedule name;
#include "meshwright/Schedule/Builtin/BuiltinSchedules.def"
#undef MESHWRIGHT_SCHEDULE

} // namespace meshwright

#endif
