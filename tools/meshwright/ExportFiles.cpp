//===- ExportFiles.cpp - What partition writes ----------------------------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

#include "ExportFiles.h"
#include "Support/ModuleFile.h"
#include "meshwright/Files/ProgramText.h"
#include "meshwright/Fragments/FragmentModule.h"
#include "llvm/ADT/StringMap.h"

using namespace mlir;
using namespace meshwright;

LogicalResult meshwright::addExport(ModuleOp module,
                                    const ExportedProgram &program,
                                    bool emitBytecode,
                                    std::vector<FolderFile> &files) {
  SymbolTable symbols(module);
  llvm::StringMap<func::FuncOp> byStem;
  for (const ExportedProgram::Fragment &fragment : program.fragments) {
    func::FuncOp function = fragment.function;
    std::string stem = getFragmentFileStem(function.getSymName());
    auto [entry, isNew] = byStem.try_emplace(stem, function);
    // On several meshes it is the same.
    if (entry->second == function && !isNew)
      continue;
    if (!isNew)
      return function.emitError()
             << "needs the same file, " << stem << ", as fragment @"
             << entry->second.getSymName() << "; give one of them another name";
    FailureOr<OwningOpRef<ModuleOp>> own =
        makeFragmentModule(function, symbols);
    if (failed(own))
      return failure();
    if (failed(checkBeforeWriting(**own)))
      return failure();
    std::string text;
    llvm::raw_string_ostream os(text);
    if (llvm::Error error = printModule(**own, os, emitBytecode))
      return function.emitError() << llvm::toString(std::move(error));
    files.push_back({"fragments/" + stem + (emitBytecode ? ".mlirbc" : ".mlir"),
                     [text = std::move(text)](llvm::raw_ostream &os) {
                       os << text;
                       return llvm::Error::success();
                     }});
  }
  files.push_back({"schedule.json", [&program](llvm::raw_ostream &os) {
                     writeJson(program, os, /*indent=*/1);
                     return llvm::Error::success();
                   }});
  return success();
}
