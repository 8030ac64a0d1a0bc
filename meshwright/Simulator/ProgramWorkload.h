//===- ProgramWorkload.h - A program as a workload --------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_SIMULATOR_PROGRAMWORKLOAD_H
#define MESHWRIGHT_SIMULATOR_PROGRAMWORKLOAD_H

#include "meshwright/Cost/CompiledMetrics.h"
#include "meshwright/Cost/FragmentCost.h"
#include "meshwright/Cost/Profile.h"
#include "meshwright/Partitioner/ExportedProgram.h"
#include "meshwright/Simulator/Workload.h"

namespace meshwright {

/// What a thread takes to issue an item where no profile says so
/// (docs/runtime.md, "Figures").
inline constexpr double kUsualIssueSeconds = 6.4e-6;

struct ProgramTimes {
  CostModel &costs;
  /// Times of fragments and transfers that it has go before those of `costs`.
  const Profile *profile = nullptr;
  /// Threads that issue: each has as many meshes, in the order of the topology.
  unsigned processes = 1;
  /// What compilers said of fragments: their memory, and their times where no
  /// profile has some.
  const CompiledMetrics *compiled = nullptr;
};

struct ProgramWorkload {
  /// Items have the positions that they have in the program.
  Workload workload;
  /// Fragments that the profile does not have: `NAME on mesh m1`.
  std::vector<std::string> missing;
  /// Those that were not compiled, and those whose time is estimated here.
  std::set<std::string> notCompiled, notTimed;
  /// Custom calls of unknown work, and loops whose trips.
  std::set<std::string> uncounted;
  unsigned unknownLoops = 0;
};

/// Emits an error if a fragment cannot be estimated.
mlir::FailureOr<ProgramWorkload> makeWorkload(const ExportedProgram &program,
                                              const ProgramTimes &times);

/// The order in which the runtime issues the items (Partitioner/IssueOrder.h),
/// also of a program whose meshes have been given other orders. Fails if meshes
/// wait for each other.
llvm::Expected<std::vector<uint32_t>>
findIssueOrder(const ExportedProgram &program, const Workload &workload);

} // namespace meshwright

#endif
