//===- TranslateShardings.h - The axes of other meshes ----------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_DIALECT_SDY_TRANSFORMS_TRANSLATESHARDINGS_H
#define MESHWRIGHT_DIALECT_SDY_TRANSFORMS_TRANSLATESHARDINGS_H

#include "meshwright/Dialect/Sdy/SdyDialect.h"
#include "llvm/ADT/StringMap.h"

namespace mlir::sdy {

/// Which axis of `to` each axis of `from` that cuts something is if only positions
/// count; nothing if the sizes differ.
std::optional<llvm::StringMap<StringRef>> matchByPosition(MeshAttr from,
                                                          MeshAttr to);

/// The axes of `from` that `to` has, too.
llvm::StringMap<StringRef> matchByName(MeshAttr from, MeshAttr to);

/// The same axis, or part of an axis, on another mesh; null if it has none.
AxisRefAttr translateAxis(AxisRefAttr axis, MeshAttr to,
                          const llvm::StringMap<StringRef> &names);

/// A sharding with the axes of another mesh.
struct Translation {
  TensorShardingAttr sharding;
  /// The first axis that the mesh does not have; null if it has all.
  AxisRefAttr lost;
};

/// Gives a sharding on `from` the axes of `to`, a mesh that `symbol` names. What
/// splits a dimension after an axis that is lost is dropped.
Translation translateSharding(TensorShardingAttr sharding, MeshAttr from,
                              MeshAttr to, FlatSymbolRefAttr symbol,
                              const llvm::StringMap<StringRef> &names);

} // namespace mlir::sdy

#endif
