//===- MpmdTypes.h ----------------------------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_DIALECT_MPMD_MPMDTYPES_H
#define MESHWRIGHT_DIALECT_MPMD_MPMDTYPES_H

#include "meshwright/Dialect/Sdy/SdyDialect.h"
#include "meshwright/Dialect/StableHLO/StablehloDialect.h"
#include "mlir/IR/BuiltinTypes.h"

#define GET_TYPEDEF_CLASSES
#include "meshwright/Dialect/Mpmd/MpmdTypes.h.inc"

namespace mlir::mpmd {

inline constexpr llvm::StringLiteral kMemoryKindDevice = "device";
inline constexpr llvm::StringLiteral kMemoryKindPinnedHost = "pinned_host";

/// Whether a StableHLO op may take a value of this type as a tensor.
bool isStablehloTensor(Type type);

/// The type that a fragment's body has for a value outside of it: the global
/// type of a mesh tensor, any other type unchanged.
Type getGlobalType(Type type);

} // namespace mlir::mpmd

#endif
