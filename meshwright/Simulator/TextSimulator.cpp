//===- TextSimulator.cpp - Programs as texts, simulated -------------------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

#include "meshwright/Simulator/TextSimulator.h"
#include "meshwright/Cost/TensorBytes.h"
#include "meshwright/Files/CrashGuard.h"
#include "meshwright/Files/ProgramText.h"
#include "meshwright/InitDialects.h"
#include "meshwright/Partitioner/Partitioner.h"
#include "meshwright/Partitioner/TextPartitioner.h"
#include "meshwright/Simulator/ProgramSimulation.h"
#include "mlir/IR/Diagnostics.h"
#include <memory>

using namespace mlir;
using namespace meshwright;

/// Simulates, and writes what becomes of it.
static llvm::Error run(llvm::Expected<Workload> workload,
                       const ProgramSimulator &simulator,
                       SimulationResult &result) {
  if (!workload)
    return workload.takeError();
  llvm::Expected<Simulation> simulation = simulate(*workload, true);
  if (!simulation)
    return simulation.takeError();
  llvm::raw_string_ostream json(result.json), table(result.table);
  writeJson(*workload, *simulation, json, true);
  printTable(*workload, *simulation, table);
  result.notes = simulator.getNotes().vec();
  return llvm::Error::success();
}

static llvm::Error run(const SimulationRequest &request,
                       SimulationResult &result) {
  llvm::Expected<ProgramSimulator> simulator =
      makeSimulator(request, parseProfile, parseCompiledMetrics);
  if (!simulator)
    return simulator.takeError();
  DialectRegistry registry;
  registerAllDialects(registry);
  MLIRContext context(registry, MLIRContext::Threading::DISABLED);
  std::string diagnostics;
  ScopedDiagnosticHandler handler(&context, [&](Diagnostic &diagnostic) {
    if (diagnostic.getSeverity() == DiagnosticSeverity::Error)
      diagnostics += (diagnostics.empty() ? "" : "; ") + diagnostic.str();
  });
  OwningOpRef<ModuleOp> module =
      parseProgram(StringRef(request.program), &context, "program");
  if (!module)
    return llvm::createStringError(diagnostics);
  llvm::Expected<Workload> workload = simulator->makeWorkload(*module);
  if (!workload && !diagnostics.empty())
    return llvm::createStringError(llvm::toString(workload.takeError()) + ": " +
                                   diagnostics);
  return run(std::move(workload), *simulator, result);
}

SimulationResult meshwright::simulateText(const SimulationRequest &request) {
  auto result = std::make_unique<SimulationResult>();
  std::optional<std::string> crash = runGuarded([&] {
    if (llvm::Error error = run(request, *result))
      result->error = llvm::toString(std::move(error));
    else
      result->succeeded = true;
  });
  if (crash) {
    result.release(); // It may be in pieces, and cannot be destroyed.
    SimulationResult failed;
    failed.error = "the simulator " + *crash +
                   "; this is a bug in Meshwright, not in the program: "
                   "please report it together with the program";
    return failed;
  }
  return std::move(*result);
}

SimulationResult
meshwright::simulatePartitioning(const SimulationRequest &request,
                                 TextRequest partitioning) {
  auto result = std::make_unique<SimulationResult>();
  partitioning.takeProgram = [&](const PartitionResult &partitioned) {
    llvm::Expected<ProgramSimulator> simulator =
        makeSimulator(request, parseProfile, parseCompiledMetrics);
    llvm::Error error = simulator ? run(simulator->makeWorkload(partitioned),
                                        *simulator, *result)
                                  : simulator.takeError();
    result->succeeded = !error;
    result->error = llvm::toString(std::move(error));
  };
  TextResult partitioned = partitionText(partitioning);
  std::string reported = describeErrors(partitioned.diagnostics);
  if (!partitioned.succeeded) {
    // The session guards what simulates its program, too: as above.
    result.release();
    SimulationResult failed;
    failed.error = reported;
    return failed;
  }
  if (!result->succeeded && !reported.empty())
    result->error += ": " + reported;
  return std::move(*result);
}

std::optional<std::string> meshwright::makeProfile(const std::string &recording,
                                                   std::string &error) {
  llvm::Expected<Profile> profile = parseProfile(recording);
  if (profile)
    return printProfile(*profile);
  error = llvm::toString(profile.takeError());
  return std::nullopt;
}

std::string meshwright::getDevicesAsJson() { return getDevicesText().str(); }

std::optional<int64_t> meshwright::countArrayBytes(
    const std::string &device, int64_t bits, const std::vector<int64_t> &shape,
    const std::vector<int64_t> &order, std::string &error) {
  llvm::Expected<Device> found = findDevice(device);
  if (found)
    return countBytes(shape, bits, *found, order);
  error = llvm::toString(found.takeError());
  return std::nullopt;
}
