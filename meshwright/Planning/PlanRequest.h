//===- PlanRequest.h - What users ask of a plan, as text --------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_PLANNING_PLANREQUEST_H
#define MESHWRIGHT_PLANNING_PLANREQUEST_H

#include "meshwright/Planning/PlanSearch.h"

namespace meshwright {

/// As on the command line; docs/plan.md.
struct PlanRequest {
  std::string device = "h100"; ///< Name or file.
  int64_t devices = 1;
  std::string memory; ///< Such as `80GB`; empty for what the device has.
  std::vector<std::string> schedules;
  std::vector<int64_t> microbatches;
  std::vector<int64_t> meshes;
  std::vector<std::string> costs; ///< `name=flops:formula`.
};

/// The inputs without its layers. The error names the option.
llvm::Expected<PlanInputs> makeInputs(const PlanRequest &request);

} // namespace meshwright

#endif
