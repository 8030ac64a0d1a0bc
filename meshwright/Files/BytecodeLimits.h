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
/// makes lists as long as the file says that they are, though that be tens of
/// GiB, and writes attributes and types into them, however many there are, and
/// so beyond their ends. Returns what is wrong; nothing for what is right, or is
/// found by the reader.
std::optional<std::string> findBytecodeDamage(llvm::MemoryBufferRef program);

} // namespace meshwright

#endif
