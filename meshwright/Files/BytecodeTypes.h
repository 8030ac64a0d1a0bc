//===- BytecodeTypes.h - Types that only bytecode can have ------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_FILES_BYTECODETYPES_H
#define MESHWRIGHT_FILES_BYTECODETYPES_H

#include "mlir/IR/Block.h"
#include "mlir/IR/Types.h"

namespace meshwright {

/// MLIR's reader makes tensors of negative sizes or of tensors, and quantized types
/// of any numbers, which its text cannot say, and nothing else expects. Returns the
/// first one in the ops of `block`; null if there is none.
mlir::Type findTypeWithoutText(mlir::Block &block);

} // namespace meshwright

#endif
