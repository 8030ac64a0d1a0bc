//===- SimulateProgram.h - A program, simulated -----------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_TOOLS_MESHWRIGHT_SIMULATEPROGRAM_H
#define MESHWRIGHT_TOOLS_MESHWRIGHT_SIMULATEPROGRAM_H

#include "meshwright/Simulator/Simulation.h"
#include "mlir/Support/LLVM.h"

namespace meshwright {

struct SimulateOptions {
  /// A folder of `meshwright partition`, its schedule.json, or a partitioned
  /// module.
  std::string path;
  std::string device;
  std::string profile;            ///< Empty if there is none.
  std::vector<std::string> costs; ///< Of custom calls.
  unsigned processes = 1;
};

/// Reads a program and dates its items. Diagnosed if that cannot be done; what
/// had to be guessed is noted on stderr.
mlir::FailureOr<Workload> readWorkload(const SimulateOptions &options);

} // namespace meshwright

#endif
