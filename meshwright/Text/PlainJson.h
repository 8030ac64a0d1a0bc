//===- PlainJson.h - JSON of bounded depth ----------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_TEXT_PLAINJSON_H
#define MESHWRIGHT_TEXT_PLAINJSON_H

#include "llvm/Support/JSON.h"

namespace meshwright {

/// Where brackets are nested deeper than a parser should follow, or null. Parsers
/// descend into them by recursion, so that those of a malicious file would use up
/// the stack.
const char *findTooDeepJson(llvm::StringRef text);

/// As llvm::json::parse, which has no such bound. For what comes from files.
llvm::Expected<llvm::json::Value> parsePlainJson(llvm::StringRef text);

} // namespace meshwright

#endif
