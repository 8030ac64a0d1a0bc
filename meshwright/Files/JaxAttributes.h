//===- JaxAttributes.h - Attributes in the bytecode of JAX ------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// JAX's MLIR writes attributes and types of StableHLO, CHLO and Shardy as a number
// for the kind and the parameters after it, here with the bytes of
// #stablehlo.channel_handle<handle = 5, type = 1>:
//
//   03 15 05      kind 1; 5 and 1 as signed numbers
//
// This MLIR writes their text, which both read.
//
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_FILES_JAXATTRIBUTES_H
#define MESHWRIGHT_FILES_JAXATTRIBUTES_H

#include "mlir/Bytecode/BytecodeImplementation.h"

namespace meshwright {

/// Reads an attribute of a dialect; null if it is none of those three. A kind that
/// is not known is an error.
mlir::LogicalResult readAttributeOfJax(mlir::DialectBytecodeReader &reader,
                                       llvm::StringRef dialect,
                                       mlir::Attribute &attribute);

/// Reads a type of StableHLO; null if it is of another dialect.
mlir::LogicalResult readTypeOfJax(mlir::DialectBytecodeReader &reader,
                                  llvm::StringRef dialect, mlir::Type &type);

} // namespace meshwright

#endif
