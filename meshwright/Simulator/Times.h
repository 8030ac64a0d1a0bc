//===- Times.h - Ticks, seconds, and texts of both --------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_SIMULATOR_TIMES_H
#define MESHWRIGHT_SIMULATOR_TIMES_H

#include "meshwright/Simulator/Workload.h"
#include <string>

namespace meshwright {

/// Rounded to the next picosecond.
Ticks toTicks(double seconds);

/// Seconds, without rounding: `0.0125`.
std::string toSeconds(Ticks ticks);

/// Four significant characters and a unit, such as `12.5 ms`.
std::string toDuration(Ticks ticks);

/// The part of a makespan in which a mesh idles that is busy that long.
double getIdlePart(Ticks busy, Ticks makespan);

} // namespace meshwright

#endif
