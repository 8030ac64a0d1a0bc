//===- TextSchedule.h - Schedules for those who do not link MLIR -*- C++ -*-==//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_PARTITIONER_TEXTSCHEDULE_H
#define MESHWRIGHT_PARTITIONER_TEXTSCHEDULE_H

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>

namespace meshwright {

/// Whether a schedule, given by name or as `file:PATH`, has a place for weight
/// gradients that are apart from backward work. Without a result, `error` says
/// what is wrong with the name or the file.
std::optional<bool> splitsBackward(std::string_view schedule,
                                   std::string &error);

/// The position of the mesh of each stage, in a pipeline of so many meshes and
/// stages; likewise.
std::optional<std::map<int64_t, int64_t>> placeStages(std::string_view schedule,
                                                      int64_t meshes,
                                                      int64_t stages,
                                                      std::string &error);

} // namespace meshwright

#endif
