//===- Traffic.cpp - meshwright traffic -----------------------------------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// Collectives are those of the code that XLA makes of the fragments, and XLA is
// JAX's: python/meshwright/runtime/run/traffic_command.py compiles and counts. A module becomes a
// folder first, as `meshwright partition` would write it.
//
//===----------------------------------------------------------------------===//

#include "Commands.h"
#include "ExportFiles.h"
#include "PythonCommand.h"
#include "Support/ModuleFile.h"
#include "meshwright/Dialect/Mpmd/Functions.h"
#include "meshwright/Files/ExportFolder.h"
#include "llvm/ADT/ScopeExit.h"
#include "llvm/Support/FileSystem.h"

using namespace mlir;
using namespace meshwright;
namespace cl = llvm::cl;

static cl::SubCommand
    subCommand("traffic", "Count what a step sends, on each mesh and between");
static cl::opt<std::string>
    path(cl::Positional, cl::Required, cl::sub(subCommand),
         cl::desc("<folder of meshwright partition, or partitioned.mlir>"));
static cl::opt<bool> asJson("json", cl::sub(subCommand),
                            cl::desc("Print everything as JSON"));

static LogicalResult countTraffic(StringRef folder, StringRef shown) {
  SmallVector<std::string> arguments = {folder.str(), shown.str()};
  if (asJson)
    arguments.push_back("--json");
  return runPython("runtime/run/traffic_command.py", arguments);
}

static LogicalResult exportTo(StringRef folder) {
  Session session;
  OwningOpRef<ModuleOp> module = session.readModule(path);
  if (!module)
    return failure();
  func::FuncOp function;
  for (auto candidate : module->getOps<func::FuncOp>())
    if (!function && mpmd::isMpmdFunction(candidate))
      function = candidate;
  if (!function)
    return reportError(path + ": has no function over meshes; expected a "
                              "program that meshwright partition wrote");
  FailureOr<ExportedProgram> program = describeProgram(function);
  std::vector<FolderFile> files;
  if (failed(program) ||
      failed(addExport(*module, *program, FragmentForm(), files)))
    return failure();
  if (llvm::Error error = writeFolder(folder, files, {"fragments"}))
    return reportError(llvm::toString(std::move(error)));
  return success();
}

static LogicalResult run() {
  if (llvm::sys::fs::is_directory(path))
    return countTraffic(path, path);
  SmallString<128> folder;
  if (std::error_code error =
          llvm::sys::fs::createUniqueDirectory("meshwright-traffic", folder))
    return reportError("no temporary folder: " + error.message());
  llvm::scope_exit remove([&] { llvm::sys::fs::remove_directories(folder); });
  if (failed(exportTo(folder)))
    return failure();
  return countTraffic(folder, path);
}

const Command meshwright::trafficCommand = {subCommand, run};
