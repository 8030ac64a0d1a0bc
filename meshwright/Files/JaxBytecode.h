//===- JaxBytecode.h - Bytecode that JAX's MLIR wrote -----------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// A bytecode has a number for each type that its MLIR knows to encode, and the text
// of every other. JAX's MLIR has numbers for floats of 8 bits and fewer; LLVM 22's
// writes their text, which both read, and knows no such number. So it is with the
// attributes of StableHLO, CHLO and Shardy (JaxAttributes.h).
//
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_FILES_JAXBYTECODE_H
#define MESHWRIGHT_FILES_JAXBYTECODE_H

#include "mlir/IR/AsmState.h"
#include "llvm/Support/MemoryBuffer.h"

namespace meshwright {

/// Has a parser know the types and attributes that only JAX's MLIR has numbers for.
void attachKindsOfJax(mlir::ParserConfig &config);

/// The same program in the bytecode of this MLIR, for a reader that cannot be
/// configured. Null if the program is not one operation that can be read; then
/// `error` is what is wrong, or empty where that reader says so itself.
std::unique_ptr<llvm::MemoryBuffer>
convertBytecodeOfJax(llvm::MemoryBufferRef program,
                     const mlir::DialectRegistry &registry, std::string &error);

} // namespace meshwright

#endif
