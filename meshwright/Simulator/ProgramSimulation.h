//===- ProgramSimulation.h - Programs, simulated ----------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// What the command and Python have in common.
//
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_SIMULATOR_PROGRAMSIMULATION_H
#define MESHWRIGHT_SIMULATOR_PROGRAMSIMULATION_H

#include "meshwright/Simulator/ProgramWorkload.h"
#include "meshwright/Simulator/Simulation.h"

namespace meshwright {

/// Makes workloads of partitioned modules.
class ProgramSimulator {
public:
  /// `device` is a name or a file, `profile` a file or empty, `costs` what
  /// users say about custom calls.
  llvm::Error setUp(llvm::StringRef device, llvm::StringRef profile,
                    llvm::ArrayRef<std::string> costs, unsigned processes);

  /// `schedule` is the text of a schedule.json of the module, or empty.
  llvm::Expected<Workload> makeWorkload(mlir::ModuleOp module,
                                        llvm::StringRef schedule = {});

  const Device &getDevice() const { return device; }
  /// What had to be guessed, a sentence each.
  llvm::ArrayRef<std::string> getNotes() const { return notes; }

private:
  void addNotes(const ProgramWorkload &made);

  Device device;
  std::optional<Profile> profile;
  CustomCosts customs;
  unsigned processes = 1;
  std::vector<std::string> notes;
};

} // namespace meshwright

#endif
