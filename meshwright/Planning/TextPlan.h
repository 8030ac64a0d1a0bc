//===- TextPlan.h - Plans for those who do not link MLIR --------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_PLANNING_TEXTPLAN_H
#define MESHWRIGHT_PLANNING_TEXTPLAN_H

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace meshwright {

/// The options of `meshwright plan`.
struct TextPlanRequest {
  std::string_view input; ///< Layers as JSON, or a program.
  bool isProgram = false;
  std::string device, memory;
  int64_t devices = 1;
  std::vector<std::string> schedules;
  std::vector<int64_t> microbatches, meshes;
  std::vector<std::string> costs;
  size_t candidates = 0; ///< How many layouts are in the answer's JSON.
};

struct TextPlan {
  std::string json; ///< As `meshwright plan --json` prints it.
  std::string text; ///< As it prints it otherwise.
};

/// Without a result, `error` says what is wrong with the request.
std::optional<TextPlan> makeTextPlan(const TextPlanRequest &request,
                                     std::string &error);

} // namespace meshwright

#endif
