//===- Tool.h - What the commands have in common ----------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_TOOLS_SUPPORT_TOOL_H
#define MESHWRIGHT_TOOLS_SUPPORT_TOOL_H

#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/LogicalResult.h"
#include <optional>
#include <string>

namespace meshwright {

/// To be called before the command line is parsed: `--version` tells what the
/// tool is made of and which JAX it sees, and a terminal gets no colours where
/// NO_COLOR is set; --color=always or never decides against both.
void prepareTool();

/// The exit code of a tool that does `body`. A mistake of ours ends it with an
/// error like any other.
int runTool(llvm::function_ref<llvm::LogicalResult()> body);

/// Ends the process of a tool that has done its work, and leaves what it holds to the
/// system: to take a program apart op by op takes longer. Returns where output was lost,
/// or a sanitizer looks for leaks.
void endTool();

/// The Python beside which the commands are installed.
struct PythonInstallation {
  std::string program;
  std::string path; ///< What PYTHONPATH needs, in a build tree.
};

/// In this order: MESHWRIGHT_PYTHON, the environment that the command is in,
/// that of its build tree, VIRTUAL_ENV, PATH.
std::optional<PythonInstallation> findPython();

} // namespace meshwright

#endif
