//===- JaxBytecode.h - Bytecode that JAX's MLIR wrote -----------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// A bytecode has a number for each type that its MLIR knows to encode, and the text
// of every other. JAX's MLIR has numbers for floats of 8 bits and fewer; LLVM 22's
// writes their text, which both read, and knows no such number. So it is with the
// attributes of StableHLO, CHLO and Shardy (JaxAttributes.h). The attributes of an op
// are in it without names; which there are depends on the release of JAX.
//
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_FILES_JAXBYTECODE_H
#define MESHWRIGHT_FILES_JAXBYTECODE_H

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"
#include "llvm/Support/MemoryBuffer.h"

namespace meshwright {

/// Parses and verifies a program in bytecode, of this MLIR or of JAX's.
mlir::OwningOpRef<mlir::ModuleOp> parseBytecode(llvm::StringRef program,
                                                mlir::MLIRContext *context,
                                                llvm::StringRef name);

/// The same program in the bytecode of this MLIR, for a reader that cannot be
/// configured. Null if the program is not one operation that can be read; then
/// `error` is what is wrong, or empty where that reader says so itself.
std::unique_ptr<llvm::MemoryBuffer>
convertBytecodeOfJax(llvm::MemoryBufferRef program,
                     const mlir::DialectRegistry &registry, std::string &error);

} // namespace meshwright

#endif
