//===- ManualAxesCleanup.cpp ----------------------------------------------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// A sharding at the border of a manual computation that does not mention a
// manual axis is replicated along it; saying so keeps propagation from
// splitting by it:
//
//   in_shardings=[<@mesh, [{"y"}]>]                   manual_axes={"y", "x"}
//   in_shardings=[<@mesh, [{"y"}], replicated={"x"}>] manual_axes={"x", "y"}
//
//===----------------------------------------------------------------------===//

#include "meshwright/Dialect/Sdy/AxisAlgebra.h"
#include "meshwright/Dialect/Sdy/SdyDialect.h"
#include "mlir/IR/SymbolTable.h"
#include "llvm/ADT/StringSet.h"

#define GEN_PASS_DEF_MANUALAXESCLEANUPPASS
#include "meshwright/Dialect/Sdy/Transforms/Passes.h"

using namespace mlir;
using namespace mlir::sdy;

/// The mesh of the first sharding that is on one with axes.
static MeshAttr getMesh(ManualComputationOp op, const SymbolTable &symbols) {
  for (TensorShardingPerValueAttr list :
       {op.getInShardings(), op.getOutShardings()})
    for (TensorShardingAttr sharding : list)
      if (MeshAttr mesh = sharding.getMesh(symbols); mesh && !mesh.empty())
        return mesh;
  return {};
}

static ManualAxesAttr sortAxes(ManualAxesAttr axes, MeshAttr mesh) {
  auto sorted = llvm::to_vector(axes);
  llvm::stable_sort(sorted, [&](StringAttr a, StringAttr b) {
    return mesh.getAxisPosition(a) < mesh.getAxisPosition(b);
  });
  sorted.erase(llvm::unique(sorted), sorted.end()); // It may name one twice.
  return ManualAxesAttr::get(axes.getContext(), sorted);
}

static TensorShardingAttr replicateOthers(TensorShardingAttr sharding,
                                          ManualAxesAttr manualAxes,
                                          MeshAttr mesh) {
  llvm::StringSet<> mentioned;
  sharding.forEachAxisRef(
      [&](AxisRefAttr axis) { mentioned.insert(axis.getName()); });
  auto replicated = llvm::to_vector(sharding.getReplicatedAxes());
  for (StringAttr axis : manualAxes)
    if (!mentioned.contains(axis))
      replicated.push_back(AxisRefAttr::get(sharding.getContext(), axis));
  sortInMeshOrder(replicated, mesh);
  return sharding.replaceReplicatedAxes(replicated);
}

static LogicalResult cleanUp(ManualComputationOp op,
                             const SymbolTable &symbols) {
  if (op.getManualAxes().empty())
    return success();
  if (op.getInShardings().empty() && op.getOutShardings().empty()) {
    if (op.getBody().front().without_terminator().empty())
      return success();
    return op.emitError()
           << "manual computation has manual axes and a body but "
              "no inputs or outputs, so that its mesh is "
              "unknown; remove the axes or pass a value";
  }
  MeshAttr mesh = getMesh(op, symbols);
  if (!mesh)
    return success();
  ManualAxesAttr axes = sortAxes(op.getManualAxes(), mesh);
  auto replicate = [&](TensorShardingPerValueAttr list) {
    return TensorShardingPerValueAttr::get(
        op.getContext(),
        llvm::map_to_vector(list, [&](TensorShardingAttr sharding) {
          MeshAttr own = sharding.getMesh(symbols);
          return own == mesh ? replicateOthers(sharding, axes, mesh) : sharding;
        }));
  };
  op.setManualAxesAttr(axes);
  op.setInShardingsAttr(replicate(op.getInShardings()));
  op.setOutShardingsAttr(replicate(op.getOutShardings()));
  return success();
}

namespace {
struct ManualAxesCleanupPass
    : sdy::impl::ManualAxesCleanupPassBase<ManualAxesCleanupPass> {
  void runOnOperation() override {
    SymbolTable symbols(getOperation());
    WalkResult result = getOperation().walk([&](ManualComputationOp op) {
      // A module within this one knows other meshes.
      if (op->getParentOfType<ModuleOp>() != getOperation())
        return WalkResult::advance();
      DictionaryAttr before = op->getAttrDictionary();
      if (failed(cleanUp(op, symbols)))
        return WalkResult::interrupt();
      numChanged += op->getAttrDictionary() != before;
      return WalkResult::advance();
    });
    if (result.wasInterrupted())
      signalPassFailure();
  }
};
} // namespace
