//===- TextLimits.h - Texts that no parser can take -------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_FILES_TEXTLIMITS_H
#define MESHWRIGHT_FILES_TEXTLIMITS_H

#include "mlir/IR/MLIRContext.h"
#include "mlir/Support/LLVM.h"
#include "llvm/Support/MemoryBufferRef.h"
#include <optional>
#include <string>

namespace meshwright {

struct TextExcess {
  size_t place; ///< In the text.
  std::string message;
};

/// Finds what would end MLIR's parser instead of being reported by it; bytecode
/// has none of it:
///
/// - Brackets of any kind that are open one in the other more than 10000 times.
///   The parser opens a function of its own for each, and its stack ends
///   somewhere.
/// - Angle brackets, of types and attributes, that are open so more than 500 times.
///   Around a wrong one, each adds an error of its own, which repeats the line.
/// - Results, as in `%0#2147483647`, of higher numbers, over all names, than the
///   text has characters. The parser allocates all of them, and does so again
///   in what is nested and sees no values from outside.
/// - `array<index>`, which no attribute is.
std::optional<TextExcess> findTextExcess(llvm::MemoryBufferRef program);

/// Reports such at its place.
mlir::LogicalResult verifyTextLimits(llvm::StringRef text,
                                     llvm::StringRef fileName,
                                     mlir::MLIRContext *context);

} // namespace meshwright

#endif
