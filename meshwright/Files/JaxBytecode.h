//===- JaxBytecode.h - Bytecode that JAX's MLIR wrote -----------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// A bytecode has a number for each type that its MLIR knows to encode, and the text
// of every other. JAX's MLIR has numbers for floats of 8 bits and fewer; LLVM 22's
// writes their text, which both read, and knows no such number.
//
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_FILES_JAXBYTECODE_H
#define MESHWRIGHT_FILES_JAXBYTECODE_H

#include "mlir/IR/AsmState.h"
#include "llvm/Support/MemoryBuffer.h"

namespace meshwright {

/// Has a parser know the types that only JAX's MLIR has numbers for.
void attachTypesOfJax(mlir::ParserConfig &config);

/// The same program in the bytecode of this MLIR, for a reader that cannot be
/// configured; null if the program is not one operation that can be read. Says
/// nothing about errors, which that reader finds again.
std::unique_ptr<llvm::MemoryBuffer>
convertBytecodeOfJax(llvm::MemoryBufferRef program,
                     const mlir::DialectRegistry &registry);

} // namespace meshwright

#endif
