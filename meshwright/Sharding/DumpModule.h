//===- DumpModule.h - Write the module to a file ----------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_SHARDING_DUMPMODULE_H
#define MESHWRIGHT_SHARDING_DUMPMODULE_H

#include "mlir/IR/BuiltinOps.h"
#include "mlir/Pass/Pass.h"

namespace mlir::mpmd {

/// A pass on modules that writes the module to `<directory>/<name>.mlir`, and
/// makes the directory if there is none. Fails with an error on the module if
/// the file cannot be written.
std::unique_ptr<Pass> createDumpModulePass(StringRef directory, StringRef name);

} // namespace mlir::mpmd

#endif
