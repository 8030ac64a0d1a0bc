//===- ByteSize.h - "80GB" --------------------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_TEXT_BYTESIZE_H
#define MESHWRIGHT_TEXT_BYTESIZE_H

#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"
#include <cstdint>

namespace meshwright {

/// Reads a positive number of bytes: `80GB`, `1.5 GiB`, `4096`.
llvm::Expected<int64_t> parseByteSize(llvm::StringRef text);

} // namespace meshwright

#endif
