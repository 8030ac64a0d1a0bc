//===- BytecodeLimits.h - Bytecode that no reader can take ------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_FILES_BYTECODELIMITS_H
#define MESHWRIGHT_FILES_BYTECODELIMITS_H

#include "llvm/Support/MemoryBufferRef.h"
#include <optional>
#include <string>

namespace meshwright {

/// Finds, in bytecode, what MLIR's reader would neither report nor survive: it
/// writes attributes and types into lists of the lengths that the file says they
/// have, however many there are, and so beyond their ends. Returns what is wrong;
/// nothing for what is right, or is found by the reader.
std::optional<std::string> findBytecodeDamage(llvm::MemoryBufferRef program);

} // namespace meshwright

#endif
