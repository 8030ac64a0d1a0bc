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

#include "meshwright/Dialect/Sdy/SdyDialect.h"
#include "meshwright/Dialect/Sdy/Transforms/Passes.h"
#include "mlir/IR/Builders.h"

namespace mlir::sdy {
#define GEN_PASS_DEF_SINKDATAFLOWEDGESPASS
#include "meshwright/Dialect/Sdy/Transforms/Passes.h.inc"
} // namespace mlir::sdy

using namespace mlir;
using namespace mlir::sdy;

/// The edge op of each owner, null where there is none.
static SmallVector<DataFlowEdgeOp> getEdges(ValueRange owners) {
  return llvm::map_to_vector(
      owners, [](Value owner) { return DataFlowEdgeOp::getFor(owner); });
}

/// The shardings of a family, read off its edge ops; none if no edge op has
/// one.
static SmallVector<TensorShardingAttr>
getFamilyShardings(ValueRange owners, ArrayRef<DataFlowEdgeOp> edges) {
  auto shardings = llvm::map_to_vector(edges, [](DataFlowEdgeOp edge) {
    return edge ? edge.getShardingAttr() : TensorShardingAttr();
  });
  auto isThere = [](TensorShardingAttr sharding) { return !!sharding; };
  const TensorShardingAttr *first = llvm::find_if(shardings, isThere);
  if (first == shardings.end())
    return {};
  TensorShardingAttr firstSharding = *first;
  for (auto [owner, sharding] : llvm::zip(owners, shardings))
    if (!sharding)
      sharding =
          TensorShardingAttr::getFullyOpenLike(owner.getType(), firstSharding);
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
    getOperation().walk([&](DataFlowOpInterface op) { sinkEdgesOf(op); });
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
    if (auto shardings = getFamilyShardings(arguments, edges);
        !shardings.empty())
      op.setBlockArgumentEdgeOwnerShardings(shardings);
    sinkDebugAttrs(op, edges, "block_arg");

    ValueRange results = op.getOpResultEdgeOwners();
    edges = getEdges(results);
    if (auto shardings = getFamilyShardings(results, edges); !shardings.empty())
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
