//===- Doctor.cpp - meshwright doctor -------------------------------------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// What can be wrong with an installation is mostly Python's, and so is the
// doctor: python/meshwright/doctor.py. The command finds it without importing
// the package, because an import that fails is what one calls a doctor for.
//
//===----------------------------------------------------------------------===//

#include "Commands.h"
#include "ModuleFile.h"
#include "Support/Tool.h"
#include "llvm/Support/Process.h"
#include "llvm/Support/Program.h"
#include <cstdlib>

using namespace mlir;
using namespace meshwright;

static llvm::cl::SubCommand
    subCommand("doctor", "Tell what is installed, what works, and what to do");

static constexpr llvm::StringLiteral kRun = R"(
import importlib.util, os, runpy, sys
spec = importlib.util.find_spec("meshwright")
if spec is None or spec.origin is None:
    sys.exit("error: the Python package meshwright is not installed in "
             + sys.executable + "; install the wheel there with `"
             + sys.executable + " -m pip install`, or name another Python with "
             "MESHWRIGHT_PYTHON")
runpy.run_path(os.path.join(os.path.dirname(spec.origin), "doctor.py"),
               run_name="__main__")
)";

static LogicalResult run() {
  std::optional<PythonInstallation> python = findPython();
  if (!python)
    return reportError("there is no Python: PATH has no python3, and "
                       "MESHWRIGHT_PYTHON names none");
  if (!python->path.empty()) {
    std::string path = python->path;
    if (std::optional<std::string> more =
            llvm::sys::Process::GetEnv("PYTHONPATH"))
      path += llvm::sys::EnvPathSeparator + *more;
    setenv("PYTHONPATH", path.c_str(), /*overwrite=*/1);
  }
  std::string error;
  int code =
      llvm::sys::ExecuteAndWait(python->program, {python->program, "-c", kRun},
                                std::nullopt, {}, 0, 0, &error);
  if (code < 0)
    return reportError(python->program + " cannot be run: " + error);
  return success(code == 0);
}

const Command meshwright::doctorCommand = {subCommand, run};
