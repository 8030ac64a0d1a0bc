//===- SimulateProgram.cpp - A program, simulated -------------------------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

#include "SimulateProgram.h"
#include "Support/ModuleFile.h"
#include "meshwright/Simulator/ProgramSimulation.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/WithColor.h"

using namespace mlir;
using namespace meshwright;

/// The module of a folder, however it was written.
static FailureOr<std::string> findModule(StringRef folder) {
  for (StringRef name : {"partitioned.mlir", "partitioned.mlirbc"}) {
    SmallString<128> path(folder);
    llvm::sys::path::append(path, name);
    if (llvm::sys::fs::exists(path))
      return path.str().str();
  }
  return reportError(folder +
                     ": expected a folder that meshwright partition wrote, "
                     "with partitioned.mlir and schedule.json in it");
}

FailureOr<Workload> meshwright::readWorkload(StringRef path,
                                             const SimulationRequest &request) {
  std::string module = path.str(), schedule;
  if (llvm::sys::fs::is_directory(path) || path.ends_with(".json")) {
    StringRef folder =
        path.ends_with(".json") ? llvm::sys::path::parent_path(path) : path;
    FailureOr<std::string> found = findModule(folder.empty() ? "." : folder);
    if (failed(found))
      return failure();
    module = *found;
    SmallString<128> file(path);
    if (!path.ends_with(".json"))
      llvm::sys::path::append(file, "schedule.json");
    schedule = file.str();
  }
  Session session;
  llvm::Expected<ProgramSimulator> simulator =
      makeSimulator(request, readProfile, readCompiledMetrics);
  if (!simulator)
    return reportError(llvm::toString(simulator.takeError()));
  OwningOpRef<ModuleOp> read = session.readModule(module);
  if (!read)
    return failure();
  std::string text;
  if (!schedule.empty()) {
    FailureOr<StringRef> contents = session.readFile(schedule);
    if (failed(contents))
      return failure();
    text = contents->str();
  }
  llvm::Expected<Workload> workload = simulator->makeWorkload(*read, text);
  if (!workload)
    return reportError((schedule.empty() ? module : schedule) + ": " +
                       llvm::toString(workload.takeError()));
  for (const std::string &note : simulator->getNotes())
    llvm::WithColor::note(llvm::errs()) << note << "\n";
  return std::move(*workload);
}
