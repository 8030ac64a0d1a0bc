//===- PropagationEdgeNames.h - Attributes that hold edges ------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_DIALECT_SDY_PROPAGATIONEDGENAMES_H
#define MESHWRIGHT_DIALECT_SDY_PROPAGATIONEDGENAMES_H

#include "llvm/ADT/StringRef.h"

namespace mlir::sdy {

/// Of an op: a `#sdy.propagation_edges`.
inline constexpr llvm::StringLiteral kPropagationEdgesAttr =
    "sdy.propagation_edges";
/// Of the values that a data-flow op owns: a list of them.
inline constexpr llvm::StringLiteral kResultPropagationEdgesAttr =
    "sdy.result_propagation_edges";
inline constexpr llvm::StringLiteral kBlockArgPropagationEdgesAttr =
    "sdy.block_arg_propagation_edges";

} // namespace mlir::sdy

#endif
