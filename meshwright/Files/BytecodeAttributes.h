//===- BytecodeAttributes.h - Attributes that are not whole -----*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_FILES_BYTECODEATTRIBUTES_H
#define MESHWRIGHT_FILES_BYTECODEATTRIBUTES_H

#include "mlir/Bytecode/BytecodeImplementation.h"

namespace meshwright {

/// Reports an attribute of the builtin dialect, at which `reader` is, that holds
/// another number of bytes than its type says, in a file of `size` bytes. MLIR's
/// reader believes the type: it allocates as much, and reads what is missing
/// from after the file.
mlir::LogicalResult verifyBuiltinAttribute(mlir::DialectBytecodeReader &reader,
                                           size_t size);

} // namespace meshwright

#endif
