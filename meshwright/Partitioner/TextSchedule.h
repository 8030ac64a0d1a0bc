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
#include <vector>

namespace meshwright {

/// Whether a schedule, given by name or as `file:PATH`, has a place for weight
/// gradients that are apart from backward work. Without a result, `error` says
/// what is wrong with the name or the file.
std::optional<bool> splitsBackward(std::string_view schedule,
                                   std::string &error);

/// The position of the mesh of each stage, in a pipeline of that many meshes and
/// stages; likewise.
std::optional<std::map<int64_t, int64_t>> placeStages(std::string_view schedule,
                                                      int64_t meshes,
                                                      int64_t stages,
                                                      std::string &error);

/// The letters of the pieces that each stage of a layout has; without a result,
/// `error` says at which character it is none.
std::optional<std::vector<std::string>> readLayout(std::string_view text,
                                                   std::string &error);

/// What is known of a builtin schedule.
struct TextScheduleInfo {
  std::string name;
  std::string registryName;
  bool isRelation;    ///< It orders pairs, which `mustPrecede` tells.
  bool needsStages;   ///< It orders only what has a stage.
  std::string source; ///< What it is from, with a link; may be empty.
};

/// All of them, in the order in which they are listed to users.
std::vector<TextScheduleInfo> listTextSchedules();

/// Which of `count` microbatches has its backward first, which next, and so on;
/// `first` is the number of the first of them in the program. In a schedule
/// from a file, which is for a number of microbatches of its own, the order is
/// that of the first stage, whose backward is the last of all.
std::optional<std::vector<int64_t>> orderBackward(std::string_view schedule,
                                                  int64_t count, int64_t first,
                                                  std::string &error);

/// One forward or backward step of a microbatch.
struct TextWorkItem {
  int64_t transposeCount;
  bool isWeightGradient; ///< It is a half of backward work.
  int64_t microbatch;
  std::optional<int64_t> stage;
};

/// Whether a builtin schedule that is a relation demands that `first` runs
/// before `second`, on the mesh at the position of the stage of `first` in a
/// pipeline of `meshes`. Fails, saying why, if the schedule cannot order them,
/// and for schedules that are no relation. A schedule that needs no stages
/// takes any transpose counts, smaller ones first.
std::optional<bool> mustPrecede(std::string_view schedule, int64_t meshes,
                                const TextWorkItem &first,
                                const TextWorkItem &second, std::string &error);

} // namespace meshwright

#endif
