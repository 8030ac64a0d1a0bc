//===- ExportFiles.h - What partition writes --------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_TOOLS_MESHWRIGHT_EXPORTFILES_H
#define MESHWRIGHT_TOOLS_MESHWRIGHT_EXPORTFILES_H

#include "meshwright/Files/FolderManifest.h"
#include "meshwright/Partitioner/ExportedProgram.h"
#include "mlir/IR/BuiltinOps.h"

namespace meshwright {

/// How the programs of fragments are written.
struct FragmentForm {
  enum class Encoding { Text, Bytecode, Portable };

  Encoding encoding = Encoding::Text;
  bool isPlain = false; ///< Without what only JAX reads.
  /// The StableHLO of a reader of portable artifacts, such as "1.9.0"; if empty, one
  /// that is a few months old.
  std::string version;
};

/// How `schedule.json` is written: of version 1, or of version 2, in which what repeats
/// is there once; by default the latter from some number of items on.
enum class ScheduleForm { BySize, Flat, Ranges };

/// Adds the programs of fragments, in `fragments/`, and `schedule.json`, which
/// ties them together. They are made when they are written.
mlir::LogicalResult addExport(mlir::ModuleOp module,
                              const ExportedProgram &program,
                              const FragmentForm &form,
                              ScheduleForm scheduleForm,
                              std::vector<FolderFile> &files);

/// Writes a folder by the threads of the context. Diagnosed if it cannot be written.
mlir::LogicalResult writeExport(llvm::StringRef folder,
                                llvm::ArrayRef<FolderFile> files,
                                mlir::MLIRContext *context);

/// Does something with a folder that `meshwright partition` wrote. A module of
/// such a folder alone becomes one first, for as long as that takes.
mlir::LogicalResult
withExportFolder(llvm::StringRef path,
                 llvm::function_ref<mlir::LogicalResult(llvm::StringRef)> body);

} // namespace meshwright

#endif
