//===- ExportFiles.h - What partition writes --------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_TOOLS_MESHWRIGHT_EXPORTFILES_H
#define MESHWRIGHT_TOOLS_MESHWRIGHT_EXPORTFILES_H

#include "meshwright/Files/FolderManifest.h"
#include "meshwright/Partitioner/ExportedProgram.h"
#include "mlir/IR/BuiltinOps.h"

namespace meshwright {

/// Adds the programs of fragments, in `fragments/`, and `schedule.json`, which
/// ties them together and is made when it is written.
mlir::LogicalResult addExport(mlir::ModuleOp module,
                              const ExportedProgram &program, bool emitBytecode,
                              std::vector<FolderFile> &files);

} // namespace meshwright

#endif
