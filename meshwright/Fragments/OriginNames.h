//===- OriginNames.h - Origins that passes give -----------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_FRAGMENTS_ORIGINNAMES_H
#define MESHWRIGHT_FRAGMENTS_ORIGINNAMES_H

#include "meshwright/Dialect/Mpmd/MpmdDialect.h"

namespace mlir::mpmd {

/// Of fragments that compute or gather once what every microbatch reads.
inline constexpr llvm::StringLiteral kHoistedOrigin = "hoisted";

/// Whether the origins of a fragment say that it is such a one.
inline bool isHoisted(ArrayAttr origins) {
  return llvm::any_of(
      origins.getAsRange<UserOriginAttr>(), [](UserOriginAttr origin) {
        return origin.getUserName().getValue() == kHoistedOrigin;
      });
}

} // namespace mlir::mpmd

#endif
