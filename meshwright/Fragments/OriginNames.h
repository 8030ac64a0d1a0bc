//===- OriginNames.h - Origins that passes give -----------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_FRAGMENTS_ORIGINNAMES_H
#define MESHWRIGHT_FRAGMENTS_ORIGINNAMES_H

#include "llvm/ADT/StringRef.h"

namespace mlir::mpmd {

/// Of fragments that compute or gather once what every microbatch reads.
inline constexpr llvm::StringLiteral kHoistedOrigin = "hoisted";

} // namespace mlir::mpmd

#endif
