//===- PythonCommand.cpp - Verbs that Python does -------------------------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

#include "PythonCommand.h"
#include "Support/ModuleFile.h"
#include "Support/Tool.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/Process.h"
#include "llvm/Support/Program.h"
#include <cstdlib>

using namespace mlir;
using namespace meshwright;

static constexpr llvm::StringLiteral kRun = R"(
import importlib.util, os, runpy, sys
spec = importlib.util.find_spec("meshwright")
if spec is None or spec.origin is None:
    sys.exit("error: the Python package meshwright is not installed in "
             + sys.executable + "; install the wheel there with `"
             + sys.executable + " -m pip install`, or name another Python with "
             "MESHWRIGHT_PYTHON")
file = sys.argv.pop(1)
runpy.run_path(os.path.join(os.path.dirname(spec.origin), file),
               run_name="__main__")
)";

LogicalResult meshwright::runPython(StringRef file,
                                    ArrayRef<std::string> arguments) {
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
  SmallVector<StringRef> line = {python->program, "-c", kRun, file};
  llvm::append_range(line, arguments);
  std::string error;
  int code = llvm::sys::ExecuteAndWait(python->program, line, std::nullopt, {},
                                       0, 0, &error);
  if (code < 0)
    return reportError(python->program + " cannot be run: " + error);
  return success(code == 0);
}
