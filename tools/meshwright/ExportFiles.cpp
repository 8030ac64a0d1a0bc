//===- ExportFiles.cpp - What partition writes ----------------------------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

#include "ExportFiles.h"
#include "PythonCommand.h"
#include "Support/ModuleFile.h"
#include "meshwright/Dialect/Mpmd/Functions.h"
#include "meshwright/Files/ErrorWatch.h"
#include "meshwright/Files/ExportFolder.h"
#include "meshwright/Files/ProgramText.h"
#include "meshwright/Fragments/FragmentModule.h"
#include "meshwright/Fragments/PlainModule.h"
#include "llvm/ADT/ScopeExit.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Path.h"

using namespace mlir;
using namespace meshwright;

/// A file whose text is there.
static FolderFile makeFile(std::string path, std::string text) {
  return {std::move(path), [text = std::move(text)](llvm::raw_ostream &os) {
            os << text;
            return llvm::Error::success();
          }};
}

/// Reports what is not diagnosed already.
static LogicalResult writeOnce(const FolderFile &file, llvm::raw_ostream &os,
                               MLIRContext *context) {
  ErrorWatch watch(context);
  llvm::Error error = file.write(os);
  if (!error)
    return success();
  std::string message = file.path + " " + llvm::toString(std::move(error));
  return watch.hasSeenError() ? failure() : reportError(message);
}

static LogicalResult reportNoFolder(std::error_code error) {
  return reportError("no temporary folder can be made: " + error.message() +
                     "; set TMPDIR to a folder that can be written");
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
  if (!form.isPlain && !isPortable)
    return success(); // It was verified when it was made.
  if (form.isPlain && failed(dropMarksOfJax(fragment)))
    return failure();
  dropShardingsOfOneDevice(fragment);
  if (isPortable && failed(verifyIsPortable(fragment)))
    return failure();
  return verifyBeforeWriting(fragment);
}

static llvm::Error print(ModuleOp fragment, const FragmentForm &form,
                         llvm::raw_ostream &os) {
  switch (form.encoding) {
  case FragmentForm::Encoding::Text:
    return printModule(fragment, os, /*asBytecode=*/false);
  case FragmentForm::Encoding::Bytecode:
    return printModule(fragment, os, /*asBytecode=*/true);
  case FragmentForm::Encoding::Portable:
    if (failed(checkText(fragment)))
      return llvm::createStringError("cannot be written as text");
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

/// Writes the program of a fragment. Errors of the program are diagnosed.
static llvm::Error writeFragment(func::FuncOp function, SymbolTable &symbols,
                                 const FragmentForm &form,
                                 llvm::raw_ostream &os) {
  FailureOr<OwningOpRef<ModuleOp>> own = makeFragmentModule(function, symbols);
  if (failed(own) || failed(simplify(**own, form)))
    return llvm::createStringError("is no valid program");
  return print(**own, form, os);
}

/// The programs of fragments, each of which is made when it is written.
static LogicalResult addFragments(ModuleOp module,
                                  const ExportedProgram &program,
                                  const FragmentForm &form,
                                  std::vector<FolderFile> &files) {
  auto symbols = std::make_shared<SymbolTable>(module);
  StringRef extension =
      form.encoding == FragmentForm::Encoding::Text ? ".mlir" : ".mlirbc";
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
    files.push_back(
        {("fragments/" + stem + extension).str(), [=](llvm::raw_ostream &os) {
           return writeFragment(function, *symbols, form, os);
         }});
  }
  return success();
}

/// Turns texts into portable artifacts.
static LogicalResult makeFilesPortable(StringRef version,
                                       llvm::MutableArrayRef<FolderFile> files,
                                       MLIRContext *context) {
  llvm::StringMap<std::string> texts, artifacts;
  for (const FolderFile &file : files) {
    llvm::raw_string_ostream os(texts[llvm::sys::path::stem(file.path)]);
    if (failed(writeOnce(file, os, context)))
      return failure();
  }
  if (failed(makePortable(texts, version, artifacts)))
    return failure();
  for (FolderFile &file : files)
    file = makeFile(file.path,
                    std::move(artifacts[llvm::sys::path::stem(file.path)]));
  return success();
}

LogicalResult meshwright::addExport(ModuleOp module,
                                    const ExportedProgram &program,
                                    const FragmentForm &form,
                                    ScheduleForm scheduleForm,
                                    std::vector<FolderFile> &files) {
  std::vector<FolderFile> fragments;
  if (failed(addFragments(module, program, form, fragments)))
    return failure();
  if (form.encoding == FragmentForm::Encoding::Portable &&
      failed(makeFilesPortable(form.version, fragments, module.getContext())))
    return failure();
  llvm::append_range(files, std::move(fragments));
  files.push_back({"schedule.json", [&, scheduleForm](llvm::raw_ostream &os) {
                     if (hasRanges(program, scheduleForm))
                       writeRangedJson(program, os);
                     else
                       writeJson(program, os, /*indent=*/1);
                     return llvm::Error::success();
                   }});
  return success();
}

LogicalResult meshwright::writeExport(StringRef folder,
                                      ArrayRef<FolderFile> files,
                                      MLIRContext *context) {
  // Several threads write, whose diagnostics come in any order: where there are some,
  // one thread writes again, to nowhere, and they are emitted then.
  bool isDiagnosed = false;
  llvm::Error error = llvm::Error::success();
  {
    ScopedDiagnosticHandler handler(context, [&](Diagnostic &) {
      isDiagnosed = true;
      return success();
    });
    error = writeFolder(folder, files, context->getThreadPool(), {"fragments"});
  }
  if (isDiagnosed)
    for (const FolderFile &file : files)
      if (failed(writeOnce(file, llvm::nulls(), context))) {
        llvm::consumeError(std::move(error));
        return failure();
      }
  return error ? reportError(llvm::toString(std::move(error))) : success();
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
  return writeExport(folder, files, session.getContext());
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
