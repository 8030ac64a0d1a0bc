//===- Pipeline.h - The export phase ----------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_EXPORT_PIPELINE_H
#define MESHWRIGHT_EXPORT_PIPELINE_H

#include "mlir/Pass/PassManager.h"
#include <string>
#include <vector>

namespace mlir::mpmd {

struct ExportOptions {
#define MESHWRIGHT_OPTION(TYPE, FIELD, TEXT, KEY, PIPELINE, FRONT, HELP)       \
  TYPE FIELD = PIPELINE;
#define MESHWRIGHT_LIST_OPTION(TYPE, FIELD, TEXT, KEY, HELP)                   \
  std::vector<TYPE> FIELD;
#include "meshwright/Export/Options.def"
};

/// Prints the options in braces, as the textual pipeline takes them.
llvm::raw_ostream &operator<<(llvm::raw_ostream &os,
                              const ExportOptions &options);

/// Adds the passes that turn the fragments of a program with shardings in its
/// types into calls of one function per distinct computation.
void addExportPipeline(OpPassManager &passes, const ExportOptions &options);

/// Makes `mpmd-export-pipeline` known to pass pipelines.
void registerExportPipeline();

} // namespace mlir::mpmd

#endif
