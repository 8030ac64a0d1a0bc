//===- ProgramText.h - Programs from texts, and back ------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_FILES_PROGRAMTEXT_H
#define MESHWRIGHT_FILES_PROGRAMTEXT_H

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OperationSupport.h"
#include "mlir/IR/OwningOpRef.h"

namespace meshwright {

/// Parses and verifies a program, text or bytecode, of this MLIR or of JAX's.
/// Diagnostics name the place under `name`.
mlir::OwningOpRef<mlir::ModuleOp> parseProgram(llvm::StringRef program,
                                               mlir::MLIRContext *context,
                                               llvm::StringRef name);

/// Prints a program so that this MLIR and JAX's read it.
void printProgram(mlir::ModuleOp module, llvm::raw_ostream &os,
                  const mlir::OpPrintingFlags &flags = {});

/// Where assertions are on, emits an error about a program that does not
/// verify, or whose text does not parse again. What is written must do both.
mlir::LogicalResult checkBeforeWriting(mlir::ModuleOp module);

} // namespace meshwright

#endif
