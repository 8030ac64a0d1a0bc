//===- DumpModule.cpp - Write the module to a file ------------------------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

#include "meshwright/Sharding/DumpModule.h"
#include "mlir/Support/FileUtilities.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/ToolOutputFile.h"

using namespace mlir;
using namespace mlir::mpmd;

namespace {
/// Not in Passes.td: a pipeline in text form has `--mlir-print-ir-tree-dir`.
struct DumpModulePass : PassWrapper<DumpModulePass, OperationPass<ModuleOp>> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(DumpModulePass)

  DumpModulePass(StringRef directory, StringRef name)
      : directory(directory), name(name) {}

  StringRef getName() const override { return "DumpModule"; }

  void runOnOperation() override {
    markAllAnalysesPreserved();
    SmallString<128> path(directory);
    llvm::sys::path::append(path, name + ".mlir");
    std::string message;
    std::unique_ptr<llvm::ToolOutputFile> file;
    if (std::error_code error = llvm::sys::fs::create_directories(directory))
      message = error.message();
    else
      file = openOutputFile(path, &message);
    if (!file) {
      getOperation().emitError()
          << "cannot write the module to " << path << ": " << message;
      return signalPassFailure();
    }
    getOperation().print(file->os());
    file->keep();
  }

  std::string directory, name;
};
} // namespace

std::unique_ptr<Pass> mpmd::createDumpModulePass(StringRef directory,
                                                 StringRef name) {
  return std::make_unique<DumpModulePass>(directory, name);
}
