//===- ExportFiles.cpp - What partition writes ----------------------------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

#include "ExportFiles.h"
#include "PythonCommand.h"
#include "Support/ModuleFile.h"
#include "meshwright/Dialect/Mpmd/Functions.h"
#include "meshwright/Files/ExportFolder.h"
#include "meshwright/Files/ProgramText.h"
#include "meshwright/Fragments/FragmentModule.h"
#include "meshwright/Fragments/PlainModule.h"
#include "llvm/ADT/ScopeExit.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MemoryBuffer.h"

using namespace mlir;
using namespace meshwright;

/// A file whose text is there.
static FolderFile makeFile(std::string path, std::string text) {
  return {std::move(path), [text = std::move(text)](llvm::raw_ostream &os) {
            os << text;
            return llvm::Error::success();
          }};
}

static LogicalResult reportNoFolder(std::error_code error) {
  return reportError("no temporary folder can be made: " + error.message() +
                     "; let TMPDIR name a folder that can be written");
}

//===----------------------------------------------------------------------===//
// Portable artifacts
//===----------------------------------------------------------------------===//

/// JAX's MLIR has the writer of portable artifacts, with the versions of all
/// operations: python/meshwright/jaxapi/portable.py writes, from texts in a folder of
/// its own.
static LogicalResult makePortable(const llvm::StringMap<std::string> &texts,
                                  StringRef version,
                                  llvm::StringMap<std::string> &artifacts) {
  SmallString<128> folder;
  if (std::error_code error =
          llvm::sys::fs::createUniqueDirectory("meshwright-portable", folder))
    return reportNoFolder(error);
  llvm::scope_exit remove([&] { llvm::sys::fs::remove_directories(folder); });
  auto getPath = [&](StringRef stem, StringRef extension) {
    return (folder + "/" + stem + extension).str();
  };
  for (const auto &entry : texts)
    if (failed(writeFile(getPath(entry.first(), ".mlir"),
                         [&](llvm::raw_ostream &os) {
                           os << entry.second;
                           return llvm::Error::success();
                         })))
      return failure();
  if (failed(
          runPython("jaxapi/portable.py", {folder.str().str(), version.str()})))
    return failure();
  for (StringRef stem : texts.keys()) {
    std::string path = getPath(stem, ".mlirbc");
    auto artifact = llvm::MemoryBuffer::getFile(path);
    if (!artifact)
      return reportError(path +
                         ": cannot be read: " + artifact.getError().message());
    artifacts[stem] = (*artifact)->getBuffer().str();
  }
  return success();
}

//===----------------------------------------------------------------------===//
// Fragments
//===----------------------------------------------------------------------===//

/// Leaves in a fragment's program what readers of this form read.
static LogicalResult simplify(ModuleOp fragment, const FragmentForm &form) {
  bool isPortable = form.encoding == FragmentForm::Encoding::Portable;
  if (form.isPlain && failed(dropMarksOfJax(fragment)))
    return failure();
  if (form.isPlain || isPortable)
    dropShardingsOfOneDevice(fragment);
  return isPortable ? verifyIsPortable(fragment) : success();
}

static llvm::Error print(ModuleOp fragment, const FragmentForm &form,
                         llvm::raw_ostream &os) {
  switch (form.encoding) {
  case FragmentForm::Encoding::Text:
    return printModule(fragment, os, /*asBytecode=*/false);
  case FragmentForm::Encoding::Bytecode:
    return printModule(fragment, os, /*asBytecode=*/true);
  case FragmentForm::Encoding::Portable:
    // A text without locations gets those of its lines.
    printProgram(fragment, os,
                 OpPrintingFlags().enableDebugInfo().assumeVerified());
    return llvm::Error::success();
  }
  llvm_unreachable("not an encoding");
}

static bool hasRanges(const ExportedProgram &program, ScheduleForm form) {
  return form == ScheduleForm::Ranges ||
         (form == ScheduleForm::BySize && isLargeForJson(program));
}

LogicalResult meshwright::addExport(ModuleOp module,
                                    const ExportedProgram &program,
                                    const FragmentForm &form,
                                    ScheduleForm scheduleForm,
                                    std::vector<FolderFile> &files) {
  SymbolTable symbols(module);
  llvm::StringMap<func::FuncOp> byStem;
  llvm::StringMap<std::string> contents;
  SmallVector<std::string> stems;
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
    if (failed(own) || failed(simplify(**own, form)))
      return failure();
    if (failed(checkBeforeWriting(**own)))
      return failure();
    llvm::raw_string_ostream os(contents[stem]);
    if (llvm::Error error = print(**own, form, os))
      return function.emitError() << llvm::toString(std::move(error));
    stems.push_back(std::move(stem));
  }
  if (form.encoding == FragmentForm::Encoding::Portable) {
    llvm::StringMap<std::string> artifacts;
    if (failed(makePortable(contents, form.version, artifacts)))
      return failure();
    contents = std::move(artifacts);
  }
  StringRef extension =
      form.encoding == FragmentForm::Encoding::Text ? ".mlir" : ".mlirbc";
  for (StringRef stem : stems)
    files.push_back(makeFile(("fragments/" + stem + extension).str(),
                             std::move(contents[stem])));
  files.push_back({"schedule.json", [&, scheduleForm](llvm::raw_ostream &os) {
                     if (hasRanges(program, scheduleForm))
                       writeRangedJson(program, os);
                     else
                       writeJson(program, os, /*indent=*/1);
                     return llvm::Error::success();
                   }});
  return success();
}

//===----------------------------------------------------------------------===//
// Modules as folders
//===----------------------------------------------------------------------===//

static LogicalResult exportTo(StringRef folder, StringRef path) {
  Session session;
  OwningOpRef<ModuleOp> module = session.readModule(path.str());
  if (!module)
    return failure();
  func::FuncOp function;
  for (auto candidate : module->getOps<func::FuncOp>())
    if (!function && mpmd::isMpmdFunction(candidate))
      function = candidate;
  if (!function)
    return reportError(path + ": has no function over meshes; expected a "
                              "program that meshwright partition wrote");
  FailureOr<ExportedProgram> program = describeProgram(function);
  std::vector<FolderFile> files;
  if (failed(program) || failed(addExport(*module, *program, FragmentForm(),
                                          ScheduleForm::BySize, files)))
    return failure();
  if (llvm::Error error = writeFolder(folder, files, {"fragments"}))
    return reportError(llvm::toString(std::move(error)));
  return success();
}

LogicalResult meshwright::withExportFolder(
    StringRef path, llvm::function_ref<LogicalResult(StringRef)> body) {
  if (llvm::sys::fs::is_directory(path))
    return body(path);
  SmallString<128> folder;
  if (std::error_code error =
          llvm::sys::fs::createUniqueDirectory("meshwright-export", folder))
    return reportNoFolder(error);
  llvm::scope_exit remove([&] { llvm::sys::fs::remove_directories(folder); });
  if (failed(exportTo(folder, path)))
    return failure();
  return body(folder);
}
