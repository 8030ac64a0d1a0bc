//===- ModuleFile.cpp - Reading and writing of programs -------------------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

#include "ModuleFile.h"
#include "Progress.h"
#include "meshwright/Files/CrashGuard.h"
#include "meshwright/InitDialects.h"
#include "meshwright/Text/WholeFile.h"
#include "mlir/Bytecode/BytecodeWriter.h"
#include "llvm/Support/Error.h"
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
    : threadPool(makeGuardedThreadPool()),
      context(makeRegistry(), MLIRContext::Threading::DISABLED),
      diagnosticHandler(sourceMgr, &context) {
  context.setThreadPool(*threadPool);
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

OwningOpRef<ModuleOp> Session::readModule(StringRef path,
                                          WrittenValues *written) {
  FailureOr<StringRef> text = readFile(path);
  if (failed(text))
    return {};
  StringRef name = path == "-" ? "<stdin>" : path;
  Progress progress(("reading " + name).str());
  OwningOpRef<ModuleOp> module = parseProgram(*text, &context, name, written);
  if (!module)
    return {};
  if (module->getBody()->empty()) {
    (void)reportError(name + ": the program is empty; expected a module with "
                             "functions");
    return {};
  }
  return module;
}

LogicalResult meshwright::writeFile(
    StringRef path,
    llvm::function_ref<llvm::Error(llvm::raw_ostream &)> write) {
  if (llvm::Error error = writeWholeFile(path, write))
    return reportError(llvm::toString(std::move(error)));
  return success();
}

llvm::Error meshwright::printModule(ModuleOp module, llvm::raw_ostream &os,
                                    bool asBytecode) {
  if (asBytecode) {
    if (failed(writeBytecodeToFile(module, os)))
      return llvm::createStringError("cannot be written as bytecode");
    return llvm::Error::success();
  }
  if (failed(printVerified(module, os)))
    return llvm::createStringError("cannot be written as text");
  os << "\n";
  return llvm::Error::success();
}

LogicalResult meshwright::writeModule(ModuleOp module, StringRef path,
                                      bool asBytecode) {
  Progress progress("writing " + path.str());
  if (failed(verifyBeforeWriting(module)))
    return failure();
  return writeFile(path, [&](llvm::raw_ostream &os) {
    return printModule(module, os, asBytecode);
  });
}
