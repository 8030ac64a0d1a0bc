//===- OperandMarks.h - What passes tell each other of operands -*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_SHARDING_OPERANDMARKS_H
#define MESHWRIGHT_SHARDING_OPERANDMARKS_H

#include "llvm/ADT/StringRef.h"

namespace mlir::mpmd {

/// Indices of a fragment's operands whose entries in `in_shardings` say nothing
/// about their types.
inline constexpr llvm::StringLiteral kOperandsWithoutShardingAttr =
    "mpmd.operands_without_sharding";

} // namespace mlir::mpmd

#endif
