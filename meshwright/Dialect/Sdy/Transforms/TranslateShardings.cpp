//===- TranslateShardings.cpp - Shardings with the axes of other meshes ---===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

#include "meshwright/Dialect/Sdy/Transforms/TranslateShardings.h"
#include "meshwright/Dialect/Sdy/AxisAlgebra.h"
#include "llvm/ADT/SmallVectorExtras.h"

using namespace mlir;
using namespace mlir::sdy;

/// The axes that cut something.
static SmallVector<MeshAxisAttr> getRealAxes(MeshAttr mesh) {
  return llvm::filter_to_vector(
      mesh.getAxes(), [](MeshAxisAttr axis) { return axis.getSize() != 1; });
}

std::optional<llvm::StringMap<StringRef>> sdy::matchByPosition(MeshAttr from,
                                                               MeshAttr to) {
  llvm::StringMap<StringRef> names;
  auto ours = getRealAxes(from), theirs = getRealAxes(to);
  if (ours.size() != theirs.size())
    return std::nullopt;
  for (auto [our, their] : llvm::zip(ours, theirs)) {
    if (our.getSize() != their.getSize())
      return std::nullopt;
    names[our.getName()] = their.getName();
  }
  return names;
}

llvm::StringMap<StringRef> sdy::matchByName(MeshAttr from, MeshAttr to) {
  llvm::StringMap<StringRef> names;
  for (MeshAxisAttr axis : from.getAxes())
    if (to.hasAxis(axis.getName()))
      names[axis.getName()] = axis.getName();
  return names;
}

/// The axes that are left, in the order of the mesh.
static SmallVector<AxisRefAttr> sorted(SmallVector<AxisRefAttr> axes,
                                       MeshAttr mesh) {
  llvm::sort(axes, [&](AxisRefAttr a, AxisRefAttr b) {
    return std::pair(mesh.getAxisPosition(a.getName()), a.getPreSize()) <
           std::pair(mesh.getAxisPosition(b.getName()), b.getPreSize());
  });
  return axes;
}

AxisRefAttr sdy::translateAxis(AxisRefAttr axis, MeshAttr to,
                               const llvm::StringMap<StringRef> &names) {
  auto found = names.find(axis.getName());
  if (found == names.end())
    return {};
  StringRef name = found->second;
  SubAxisInfoAttr part = axis.getSubAxisInfo();
  if (!part)
    return AxisRefAttr::get(axis.getContext(), name);
  int64_t size = to.getAxisSize(name);
  if (size % part.getNextPreSize() != 0) // The axis is shorter here.
    return {};
  if (part.getSize() == size)
    return AxisRefAttr::get(axis.getContext(), name);
  return AxisRefAttr::get(axis.getContext(), name, part.getPreSize(),
                          part.getSize());
}

Translation sdy::translateSharding(TensorShardingAttr sharding, MeshAttr from,
                                   MeshAttr to, FlatSymbolRefAttr symbol,
                                   const llvm::StringMap<StringRef> &names) {
  AxisRefAttr lost;
  // Axes of a dimension that are after one that is lost would split it in
  // another place.
  auto map = [&](ArrayRef<AxisRefAttr> axes, bool stopAtLost) {
    SmallVector<AxisRefAttr> result;
    for (AxisRefAttr axis : axes) {
      if (AxisRefAttr found = translateAxis(axis, to, names)) {
        // What split between two parts of an axis may be gone.
        appendOrMerge(result, found, to);
      } else if (axis.getSize(from) != 1) {
        lost = lost ? lost : axis;
        if (stopAtLost)
          break;
      }
    }
    return result;
  };
  auto dims = llvm::map_to_vector(
      sharding.getDimShardings(), [&](DimensionShardingAttr dim) {
        auto axes = map(dim.getAxes(), /*stopAtLost=*/true);
        DimensionShardingAttr result = dim.replaceAxes(axes);
        bool isClosedAndEmpty = axes.empty() && dim.getIsClosed();
        return isClosedAndEmpty ? result.dropPriority() : result;
      });
  auto replicated = sorted(map(sharding.getReplicatedAxes(), false), to);
  auto unreduced = sorted(map(sharding.getUnreducedAxes(), false), to);
  return {
      TensorShardingAttr::get(
          sharding.getContext(), symbol, dims, replicated, unreduced,
          unreduced.empty() ? ReductionKind::Sum : sharding.getReductionKind()),
      lost};
}
