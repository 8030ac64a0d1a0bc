//===- Compile.cpp - meshwright compile -----------------------------------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// The compilers of TPUs and GPUs are plugins of JAX, which compile without such
// devices: python/meshwright/runtime/run/compile_command.py.
//
//===----------------------------------------------------------------------===//

#include "Commands.h"
#include "ExportFiles.h"
#include "PythonCommand.h"

using namespace mlir;
using namespace meshwright;
namespace cl = llvm::cl;

static cl::SubCommand subCommand(
    "compile",
    "Compile for TPUs or GPUs, present or not, and check the memory");
static cl::opt<std::string>
    path(cl::Positional, cl::Required, cl::sub(subCommand),
         cl::desc("<folder of meshwright partition, or partitioned.mlir>"));
static cl::list<std::string>
    targets("target", cl::OneOrMore, cl::sub(subCommand),
            cl::value_desc("v5p:2x2x4|h100:16"),
            cl::desc("The devices; may be repeated to compare"));
static cl::opt<bool> asJson("json", cl::sub(subCommand),
                            cl::desc("Print everything as JSON"));

static LogicalResult run() {
  return withExportFolder(path, [](StringRef folder) {
    SmallVector<std::string> arguments = {folder.str(), path};
    for (const std::string &target : targets)
      arguments.push_back("--target=" + target);
    if (asJson)
      arguments.push_back("--json");
    return runPython("runtime/run/compile_command.py", arguments);
  });
}

const Command meshwright::compileCommand = {subCommand, run};
