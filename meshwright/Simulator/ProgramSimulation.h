//===- ProgramSimulation.h - Programs, simulated ----------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// What the command and Python have in common.
//
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_SIMULATOR_PROGRAMSIMULATION_H
#define MESHWRIGHT_SIMULATOR_PROGRAMSIMULATION_H

#include "meshwright/Partitioner/Partitioner.h"
#include "meshwright/Simulator/ProgramWorkload.h"
#include "meshwright/Simulator/Simulation.h"
#include "meshwright/Simulator/TextSimulator.h"

namespace meshwright {

/// Makes workloads of partitioned modules.
class ProgramSimulator {
public:
  ProgramSimulator(Device device, std::optional<Profile> profile,
                   std::optional<CompiledMetrics> compiled, CustomCosts customs,
                   unsigned processes, bool overlaps)
      : device(std::move(device)), profile(std::move(profile)),
        compiled(std::move(compiled)), customs(std::move(customs)),
        processes(processes), overlaps(overlaps) {}

  /// `schedule` is the text of a schedule.json of the module, or empty.
  llvm::Expected<Workload> makeWorkload(mlir::ModuleOp module,
                                        llvm::StringRef schedule = {});
  /// Of a program that has been exported, maybe with other costs of custom calls.
  llvm::Expected<Workload> makeWorkload(const PartitionResult &partitioned);

  const Device &getDevice() const { return device; }
  /// What had to be guessed, a sentence each.
  llvm::ArrayRef<std::string> getNotes() const { return notes; }

private:
  llvm::Expected<Workload> makeWorkloadOf(mlir::ModuleOp module,
                                          ExportedProgram program);
  void addNotes(const ProgramWorkload &made);

  Device device;
  std::optional<Profile> profile;
  std::optional<CompiledMetrics> compiled;
  CustomCosts customs;
  unsigned processes;
  bool overlaps;
  std::vector<std::string> notes;
};

/// As the request says, but for the program, with what `readProfile` and
/// `readCompiled` make of what it says of these.
llvm::Expected<ProgramSimulator>
makeSimulator(const SimulationRequest &request,
              llvm::Expected<Profile> (*readProfile)(llvm::StringRef),
              llvm::Expected<CompiledMetrics> (*readCompiled)(llvm::StringRef));

} // namespace meshwright

#endif
