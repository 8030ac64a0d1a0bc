//===- SimulateProgram.h - A program, simulated -----------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_TOOLS_MESHWRIGHT_SIMULATEPROGRAM_H
#define MESHWRIGHT_TOOLS_MESHWRIGHT_SIMULATEPROGRAM_H

#include "meshwright/Simulator/Simulation.h"
#include "meshwright/Simulator/TextSimulator.h"
#include "mlir/Support/LLVM.h"

namespace meshwright {

/// Reads a program and dates its items: a folder of `meshwright partition`, its
/// schedule.json, or a partitioned module. The request, but for its program, says
/// how; its profile is a file, and so is what compilers said, or the folder of a
/// saved program. Diagnosed if that cannot be done; what had to be
/// guessed is noted on stderr.
mlir::FailureOr<Workload> readWorkload(llvm::StringRef path,
                                       const SimulationRequest &request);

} // namespace meshwright

#endif
