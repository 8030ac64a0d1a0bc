//===- ProgramText.h - Programs from texts, and back ------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_FILES_PROGRAMTEXT_H
#define MESHWRIGHT_FILES_PROGRAMTEXT_H

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OperationSupport.h"
#include "mlir/IR/OwningOpRef.h"
#include "llvm/ADT/DenseSet.h"
#include "llvm/ADT/StringMap.h"

namespace meshwright {

/// Values by their names in a text: `%0`, `%arg0`. `%0:2` is a list of two, and so
/// are names that several functions or bodies have.
using WrittenValues = llvm::StringMap<llvm::SmallVector<mlir::ValueRange>>;

/// Parses and verifies a program, text or bytecode, of this MLIR or of JAX's.
/// Diagnostics name the place under `name`. The names of a text go to `written`;
/// bytecode has none.
mlir::OwningOpRef<mlir::ModuleOp>
parseProgram(llvm::StringRef program, mlir::MLIRContext *context,
             llvm::StringRef name, WrittenValues *written = nullptr);

/// Prints a program so that this MLIR and JAX's read it.
void printProgram(mlir::ModuleOp module, llvm::raw_ostream &os,
                  const mlir::OpPrintingFlags &flags = {});

/// Prints a verified program so. Where assertions are on, emits an error about a text
/// that does not parse again. Not of programs with more than 512 ops in a block: they
/// repeat what shorter ones have, and parsing would take longer than partitioning.
mlir::LogicalResult printVerified(mlir::ModuleOp module, llvm::raw_ostream &os);

/// As `printVerified` to nowhere; nothing where assertions are off.
mlir::LogicalResult checkText(mlir::ModuleOp module);

/// Where assertions are on, emits an error about a program that does not verify.
mlir::LogicalResult verifyBeforeWriting(mlir::ModuleOp module);

/// Checks modules of which many are alike. What is written must verify, and its text must
/// be right.
class WrittenModules {
public:
  /// As `verifyBeforeWriting` and `checkText`. Of modules that differ in nothing but a
  /// name of the module that needs no quotes, one text is parsed.
  mlir::LogicalResult check(mlir::ModuleOp module);

private:
  llvm::DenseSet<std::pair<uint64_t, uint64_t>> readBack; ///< Hashes of texts.
};

} // namespace meshwright

#endif
