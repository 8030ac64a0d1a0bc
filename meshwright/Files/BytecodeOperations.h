//===- BytecodeOperations.h - Counts of operations in bytecode --*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_FILES_BYTECODEOPERATIONS_H
#define MESHWRIGHT_FILES_BYTECODEOPERATIONS_H

#include "llvm/ADT/StringRef.h"
#include <optional>
#include <string>

namespace meshwright {

/// Walks over the operations in a section of bytecode of this version and looks
/// at counts alone: that nothing has more parts than the section holds, and that
/// no region reserves places for values that it does not define. Returns what is
/// wrong, if anything is.
std::optional<std::string> findDamagedOperations(llvm::StringRef section,
                                                 uint64_t version);

} // namespace meshwright

#endif
