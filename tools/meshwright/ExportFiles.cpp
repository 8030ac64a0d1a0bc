//===- ExportFiles.cpp - What partition writes ----------------------------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

#include "ExportFiles.h"
#include "Support/ModuleFile.h"
#include "meshwright/Fragments/FragmentModule.h"

using namespace mlir;
using namespace meshwright;

LogicalResult meshwright::addExport(ModuleOp module,
                                    const ExportedProgram &program,
                                    bool emitBytecode,
                                    std::vector<FolderFile> &files) {
  SymbolTable symbols(module);
  for (const ExportedProgram::Fragment &fragment : program.fragments) {
    func::FuncOp function = fragment.function;
    FailureOr<OwningOpRef<ModuleOp>> own =
        makeFragmentModule(function, symbols);
    if (failed(own))
      return failure();
    FailureOr<std::string> text = printModule(**own, emitBytecode);
    if (failed(text))
      return failure();
    files.push_back({"fragments/" + getFragmentFileStem(function.getSymName()) +
                         (emitBytecode ? ".mlirbc" : ".mlir"),
                     std::move(*text)});
  }
  std::string schedule;
  llvm::raw_string_ostream os(schedule);
  writeJson(program, os, /*indent=*/1);
  files.push_back({"schedule.json", std::move(schedule)});
  return success();
}
