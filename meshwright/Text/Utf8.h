//===- Utf8.h - Texts of any bytes as UTF-8 ---------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_TEXT_UTF8_H
#define MESHWRIGHT_TEXT_UTF8_H

#include "llvm/ADT/StringRef.h"
#include <string>

namespace meshwright {

/// A text as it is, but for bytes that are not UTF-8: each of them becomes a
/// text like `\xFF`.
std::string toUtf8(llvm::StringRef text);

/// The same as a part of a line for people: control characters, which a
/// terminal would obey, become such texts, too.
std::string toLine(llvm::StringRef text);

} // namespace meshwright

#endif
