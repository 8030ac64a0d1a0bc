//===- ModuleFile.h - Reading and writing of programs -----------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_TOOLS_SUPPORT_MODULEFILE_H
#define MESHWRIGHT_TOOLS_SUPPORT_MODULEFILE_H

#include "meshwright/Files/ProgramText.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/Diagnostics.h"
#include "mlir/IR/OwningOpRef.h"
#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/Support/Error.h"
#include "llvm/Support/SourceMgr.h"
#include "llvm/Support/ThreadPool.h"

namespace meshwright {

/// A context with every dialect, and the diagnostics of the files read into it
/// printed to stderr with the line they are about.
class Session {
public:
  Session();

  mlir::MLIRContext *getContext() { return &context; }

  /// The contents of a file, or of standard input for "-". Diagnosed if it
  /// cannot be read.
  mlir::FailureOr<llvm::StringRef> readFile(llvm::StringRef path);

  /// Parses and verifies a program, text or bytecode. Diagnosed if it holds
  /// no operation at all. The names of values in a text go to `written`.
  mlir::OwningOpRef<mlir::ModuleOp>
  readModule(llvm::StringRef path, WrittenValues *written = nullptr);

private:
  std::unique_ptr<llvm::ThreadPoolInterface> threadPool;
  mlir::MLIRContext context;
  llvm::SourceMgr sourceMgr;
  mlir::SourceMgrDiagnosticHandler diagnosticHandler;
};

/// Writes a file as `writeWholeFile` does. Diagnosed if it cannot be.
mlir::LogicalResult
writeFile(llvm::StringRef path,
          llvm::function_ref<llvm::Error(llvm::raw_ostream &)> write);

/// Prints a verified program as it is written. A text that cannot be read back is
/// diagnosed, too.
llvm::Error printModule(mlir::ModuleOp module, llvm::raw_ostream &os,
                        bool asBytecode);

/// Writes a program to a file as `writeWholeFile` does. Diagnosed if it cannot
/// be.
mlir::LogicalResult writeModule(mlir::ModuleOp module, llvm::StringRef path,
                                bool asBytecode);

/// Prints "error: <message>" for what has no place in a file.
mlir::LogicalResult reportError(const llvm::Twine &message);

} // namespace meshwright

#endif
