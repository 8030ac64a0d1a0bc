//===- RemoveSizeOneAxes.cpp ----------------------------------------------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// An axis of size 1 splits nothing, but at the minor end of a dimension it
// would keep other axes from merging with or following what is there.
//
//===----------------------------------------------------------------------===//

#include "meshwright/Dialect/Sdy/AxisAlgebra.h"
#include "meshwright/Dialect/Sdy/Shardings.h"
#include "meshwright/Dialect/Sdy/Transforms/ShardingWalk.h"
#include "mlir/IR/SymbolTable.h"
#include "llvm/ADT/StringSet.h"

#define GEN_PASS_DEF_REMOVESIZEONEAXESPASS
#include "meshwright/Dialect/Sdy/Transforms/Passes.h"

using namespace mlir;
using namespace mlir::sdy;

static bool hasSizeOneAxis(MeshAttr mesh) {
  return llvm::any_of(mesh.getAxes(),
                      [](MeshAxisAttr axis) { return axis.getSize() == 1; });
}

/// The axes that collectives move. They are in the shardings on both sides.
static llvm::StringSet<> getMovedAxes(ModuleOp module) {
  llvm::StringSet<> moved;
  module.walk([&](Operation *op) {
    if (isCollective(op))
      for (NamedAttribute attr : op->getAttrs())
        if (!isa<TensorShardingAttr>(attr.getValue()))
          attr.getValue().walk(
              [&](AxisRefAttr axis) { moved.insert(axis.getName()); });
  });
  return moved;
}

/// Drops the axes of size 1 but those in `moved`.
static TensorShardingAttr dropSizeOneAxes(TensorShardingAttr sharding,
                                          MeshAttr mesh,
                                          const llvm::StringSet<> &moved) {
  auto keepOthers = [&](ArrayRef<AxisRefAttr> axes) {
    SmallVector<AxisRefAttr> kept;
    for (AxisRefAttr axis : axes)
      if (axis.isSubAxis() || mesh.findAxisSize(axis.getName()) != 1 ||
          moved.contains(axis.getName()))
        appendOrMerge(kept, axis,
                      mesh); // Maybe there was one between two parts.
    return kept;
  };
  auto dims = llvm::map_to_vector(
      sharding.getDimShardings(), [&](DimensionShardingAttr dim) {
        DimensionShardingAttr kept = dim.replaceAxes(keepOthers(dim.getAxes()));
        return kept.emptyAxes() && kept.getIsClosed() ? kept.dropPriority()
                                                      : kept;
      });
  return sharding.replaceDimShardings(dims)
      .replaceReplicatedAxes(keepOthers(sharding.getReplicatedAxes()))
      .replaceUnreducedAxes(keepOthers(sharding.getUnreducedAxes()));
}

namespace {
struct RemoveSizeOneAxesPass
    : sdy::impl::RemoveSizeOneAxesPassBase<RemoveSizeOneAxesPass> {
  void runOnOperation() override {
    ModuleOp module = getOperation();
    if (llvm::none_of(module.getOps<MeshOp>(), [](MeshOp mesh) {
          return hasSizeOneAxis(mesh.getMesh());
        }))
      return;
    SymbolTable symbols(module);
    llvm::StringSet<> moved = getMovedAxes(module);
    transformShardings(module, [&](TensorShardingAttr sharding) {
      MeshAttr mesh = sharding.getMesh(symbols);
      if (!mesh || !hasSizeOneAxis(mesh))
        return sharding;
      TensorShardingAttr dropped = dropSizeOneAxes(sharding, mesh, moved);
      numChanged += dropped != sharding;
      return dropped;
    });
  }
};
} // namespace
