//===- PythonCommand.h - Verbs that Python does -----------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_TOOLS_MESHWRIGHT_PYTHONCOMMAND_H
#define MESHWRIGHT_TOOLS_MESHWRIGHT_PYTHONCOMMAND_H

#include "mlir/Support/LLVM.h"

namespace meshwright {

/// Runs a file of the Python package, such as `doctor.py`, as a program in the
/// Python that the command belongs to. The package is found without importing
/// it, because an import that fails is what one calls a doctor for. Diagnosed
/// if there is no such Python or package; fails as the program does.
mlir::LogicalResult runPython(llvm::StringRef file,
                              llvm::ArrayRef<std::string> arguments);

} // namespace meshwright

#endif
