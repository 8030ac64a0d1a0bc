//===- ModuleFile.cpp - Reading and writing of programs -------------------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

#include "ModuleFile.h"
#include "meshwright/InitAll.h"
#include "mlir/Bytecode/BytecodeWriter.h"
#include "mlir/Parser/Parser.h"
#include "llvm/Support/Error.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/WithColor.h"
#include "llvm/Support/raw_ostream.h"

using namespace mlir;
using namespace meshwright;

static DialectRegistry makeRegistry() {
  DialectRegistry registry;
  registerAllDialects(registry);
  return registry;
}

Session::Session()
    : context(makeRegistry()), diagnosticHandler(sourceMgr, &context) {
  context.printOpOnDiagnostic(false);
}

LogicalResult meshwright::reportError(const Twine &message) {
  llvm::WithColor::error(llvm::errs()) << message << "\n";
  return failure();
}

FailureOr<StringRef> Session::readFile(StringRef path) {
  llvm::ErrorOr<std::unique_ptr<llvm::MemoryBuffer>> buffer =
      llvm::MemoryBuffer::getFileOrSTDIN(path);
  if (std::error_code error = buffer.getError())
    return reportError(path + ": cannot be read: " + error.message());
  unsigned id = sourceMgr.AddNewSourceBuffer(std::move(*buffer), SMLoc());
  return sourceMgr.getMemoryBuffer(id)->getBuffer();
}

OwningOpRef<ModuleOp> Session::readModule(StringRef path) {
  FailureOr<StringRef> text = readFile(path);
  if (failed(text))
    return {};
  StringRef name = path == "-" ? "<stdin>" : path;
  OwningOpRef<ModuleOp> module =
      parseSourceString<ModuleOp>(*text, &context, name);
  if (!module)
    return {};
  if (module->getBody()->empty()) {
    (void)reportError(name + ": the program is empty; expected a module with "
                             "functions");
    return {};
  }
  return module;
}

/// A device or a pipe is written to; a file in its place would be another one.
static llvm::Error
writeInPlace(StringRef path,
             llvm::function_ref<llvm::Error(llvm::raw_ostream &)> write) {
  std::error_code code;
  llvm::raw_fd_ostream os(path, code);
  if (code)
    return llvm::errorCodeToError(code);
  llvm::Error error = write(os);
  os.flush();
  if (!error && os.has_error())
    error = llvm::errorCodeToError(os.error());
  os.clear_error();
  return error;
}

LogicalResult meshwright::writeFile(
    StringRef path,
    llvm::function_ref<llvm::Error(llvm::raw_ostream &)> write) {
  llvm::sys::fs::file_status status;
  bool isSpecial = path != "-" && !llvm::sys::fs::status(path, status) &&
                   llvm::sys::fs::is_other(status);
  llvm::Error error =
      isSpecial ? writeInPlace(path, write) : llvm::writeToOutput(path, write);
  if (!error)
    return success();
  return reportError(
      path + ": cannot be written: " + llvm::toString(std::move(error)));
}

LogicalResult meshwright::writeModule(ModuleOp module, StringRef path,
                                      bool asBytecode) {
  return writeFile(path, [&](llvm::raw_ostream &os) -> llvm::Error {
    if (!asBytecode) {
      module->print(os);
      os << "\n";
    } else if (failed(writeBytecodeToFile(module, os))) {
      return llvm::createStringError("cannot be written as bytecode");
    }
    return llvm::Error::success();
  });
}
