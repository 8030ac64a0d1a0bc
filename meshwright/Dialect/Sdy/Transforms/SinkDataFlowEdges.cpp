//===- SinkDataFlowEdges.cpp ----------------------------------------------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// The edge ops of sdy-add-data-flow-edges have collected the shardings of
// values that flow through data-flow ops. They go back to where those ops keep
// them, one list for block arguments and one for results; a list is replaced as
// a whole or not at all.
//
//===----------------------------------------------------------------------===//

#include "meshwright/Dialect/Sdy/Shardings.h"
#include "mlir/IR/Verifier.h"

#define GEN_PASS_DEF_SINKDATAFLOWEDGESPASS
#include "meshwright/Dialect/Sdy/Transforms/Passes.h"

using namespace mlir;
using namespace mlir::sdy;

/// The edge op of each owner, null where there is none.
static SmallVector<DataFlowEdgeOp> getEdges(ValueRange owners) {
  return llvm::map_to_vector(
      owners, [](Value owner) { return DataFlowEdgeOp::getFor(owner); });
}

/// Whether sdy-add-data-flow-edges gives a value of this type an edge op.
static bool canHaveEdge(Type type) {
  auto shaped = dyn_cast<ShapedType>(type);
  return shaped && shaped.hasStaticShape();
}

/// The shardings of a family, read off its edge ops; none if no edge op has one.
/// Owners that never have an edge op keep theirs.
static SmallVector<TensorShardingAttr>
getFamilyShardings(ValueRange owners, ArrayRef<DataFlowEdgeOp> edges,
                   ArrayRef<TensorShardingAttr> stored, Operation *from) {
  auto shardings = llvm::map_to_vector(edges, [](DataFlowEdgeOp edge) {
    return edge ? edge.getShardingAttr() : TensorShardingAttr();
  });
  if (llvm::none_of(shardings,
                    [](TensorShardingAttr sharding) { return !!sharding; }))
    return {};
  for (auto [owner, sharding, before] : llvm::zip(owners, shardings, stored))
    if (!canHaveEdge(owner.getType()))
      sharding = before;
  if (!fillShardings(shardings, owners.getTypes(), from))
    return {};
  return shardings;
}

/// Moves a discardable attribute of edge ops to the data-flow op, as an array
/// with one entry per owner.
static void sinkDebugAttr(Operation *op, ArrayRef<DataFlowEdgeOp> edges,
                          StringRef attrName, StringRef family) {
  auto attrOf = [&](DataFlowEdgeOp edge) {
    return edge ? edge->getDiscardableAttr(attrName) : Attribute();
  };
  if (llvm::none_of(edges, attrOf))
    return;
  auto none = DictionaryAttr::get(op->getContext());
  SmallVector<Attribute> entries;
  for (DataFlowEdgeOp edge : edges)
    entries.push_back(attrOf(edge) ? attrOf(edge) : none);
  op->setAttr((Twine("sdy.") + family + "_" + attrName.split('.').second).str(),
              ArrayAttr::get(op->getContext(), entries));
}

namespace {
struct SinkDataFlowEdgesPass
    : sdy::impl::SinkDataFlowEdgesPassBase<SinkDataFlowEdgesPass> {
  using Base::Base;

  void runOnOperation() override {
    WalkResult result = getOperation().walk([&](DataFlowOpInterface op) {
      sinkEdgesOf(op);
      // An edge op may have a sharding that fits the value, but not the body.
      return isa<ManualComputationOp>(op) &&
                     failed(verify(op, /*verifyRecursively=*/false))
                 ? WalkResult::interrupt()
                 : WalkResult::advance();
    });
    if (result.wasInterrupted())
      return signalPassFailure();
    // Also those whose owner is not in a data-flow op.
    getOperation().walk([&](DataFlowEdgeOp edge) {
      edge.replaceAllUsesWith(edge.getInput());
      edge.erase();
      ++numEdges;
    });
  }

private:
  void sinkEdgesOf(DataFlowOpInterface op) {
    auto arguments = llvm::to_vector_of<Value>(op.getBlockArgumentEdgeOwners());
    SmallVector<DataFlowEdgeOp> edges = getEdges(arguments);
    if (auto shardings = getFamilyShardings(
            arguments, edges, op.getBlockArgumentEdgeOwnerShardings(), op);
        !shardings.empty())
      op.setBlockArgumentEdgeOwnerShardings(shardings);
    sinkDebugAttrs(op, edges, "block_arg");

    ValueRange results = op.getOpResultEdgeOwners();
    edges = getEdges(results);
    if (auto shardings = getFamilyShardings(
            results, edges, op.getOpResultEdgeOwnerShardings(), op);
        !shardings.empty())
      op.setOpResultEdgeOwnerShardings(shardings);
    sinkDebugAttrs(op, edges, "result");
  }

  void sinkDebugAttrs(Operation *op, ArrayRef<DataFlowEdgeOp> edges,
                      StringRef family) {
    if (sinkDebugShardingOrigins)
      sinkDebugAttr(op, edges, "sdy.sharding_origins", family);
    if (sinkDebugPropagationEdgeSharding)
      sinkDebugAttr(op, edges, "sdy.propagation_edges", family);
  }
};
} // namespace
