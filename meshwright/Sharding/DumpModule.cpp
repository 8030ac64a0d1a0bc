//===- DumpModule.cpp - Write the module to a file ------------------------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

#include "meshwright/Sharding/DumpModule.h"
#include "meshwright/Files/ProgramText.h"
#include "meshwright/Files/WholeFile.h"
#include "llvm/ADT/SmallString.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"

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
    if (std::error_code error = llvm::sys::fs::create_directories(directory))
      message = (path + ": cannot be written: " + error.message()).str();
    else if (llvm::Error error =
                 meshwright::writeWholeFile(path, [&](llvm::raw_ostream &os) {
                   meshwright::printProgram(getOperation(), os);
                   return llvm::Error::success();
                 }))
      message = llvm::toString(std::move(error));
    if (message.empty())
      return;
    getOperation().emitError()
        << "cannot write the module to a file: " << message;
    signalPassFailure();
  }

  std::string directory, name;
};
} // namespace

std::unique_ptr<Pass> mpmd::createDumpModulePass(StringRef directory,
                                                 StringRef name) {
  return std::make_unique<DumpModulePass>(directory, name);
}
