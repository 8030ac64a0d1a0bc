//===- Traffic.cpp - meshwright traffic -----------------------------------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// Collectives are those of the code that XLA makes of the fragments, and XLA is
// JAX's: python/meshwright/runtime/run/traffic_command.py compiles and counts.
//
//===----------------------------------------------------------------------===//

#include "Commands.h"
#include "ExportFiles.h"
#include "PythonCommand.h"

using namespace mlir;
using namespace meshwright;
namespace cl = llvm::cl;

static cl::SubCommand
    subCommand("traffic",
               "Count the bytes that a step sends, within and between meshes");
static cl::opt<std::string>
    path(cl::Positional, cl::Required, cl::sub(subCommand),
         cl::desc("<folder of meshwright partition, or partitioned.mlir>"));
static cl::opt<bool> asJson("json", cl::sub(subCommand),
                            cl::desc("Print everything as JSON"));

static LogicalResult run() {
  return withExportFolder(path, [](StringRef folder) {
    SmallVector<std::string> arguments = {folder.str(), path};
    if (asJson)
      arguments.push_back("--json");
    return runPython("runtime/run/traffic_command.py", arguments);
  });
}

const Command meshwright::trafficCommand = {subCommand, run};
