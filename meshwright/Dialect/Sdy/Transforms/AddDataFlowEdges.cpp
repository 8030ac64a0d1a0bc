//===- AddDataFlowEdges.cpp -----------------------------------------------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// A value that flows through the regions of an op has several names. One of
// them owns the edge; it gets an op of its own that holds what is known of the
// sharding while shardings propagate:
//
//   %0 = mpmd.fragment (%a) (%x: …) {        %0 = mpmd.fragment (%a) (%x: …) {
//     %1 = stablehlo.sine %x                   %1 = sdy.data_flow_edge %x
//                                   becomes    %2 = stablehlo.sine %1
//     mpmd.return %1                           mpmd.return %2
//   }                                        }
//   use %0                                   %3 = sdy.data_flow_edge %0
//                                            use %3
//
//===----------------------------------------------------------------------===//

#include "meshwright/Dialect/Sdy/Transforms/AddDataFlowEdges.h"
#include "meshwright/Dialect/Sdy/ShardingVerification.h"
#include "meshwright/Dialect/Sdy/Transforms/Frames.h"

#define GEN_PASS_DEF_ADDDATAFLOWEDGESPASS
#include "meshwright/Dialect/Sdy/Transforms/Passes.h"

using namespace mlir;
using namespace mlir::sdy;

/// Inserts edge ops at the insertion point for the owners of one family.
static unsigned addEdges(ValueRange owners,
                         ArrayRef<TensorShardingAttr> shardings,
                         OpBuilder &builder) {
  unsigned numEdges = 0;
  for (auto [index, owner] : llvm::enumerate(owners)) {
    auto type = dyn_cast<ShapedType>(owner.getType());
    if (!type || !type.hasStaticShape() || DataFlowEdgeOp::getFor(owner))
      continue;
    TensorShardingAttr sharding =
        index < shardings.size() ? shardings[index] : TensorShardingAttr();
    auto edge = DataFlowEdgeOp::create(builder, owner.getLoc(), owner.getType(),
                                       owner, sharding);
    owner.replaceAllUsesExcept(edge, edge);
    ++numEdges;
  }
  return numEdges;
}

unsigned mlir::sdy::addDataFlowEdges(DataFlowOpInterface op,
                                     OpBuilder &builder) {
  if (isFrame(op))
    return 0;
  OpBuilder::InsertionGuard guard(builder);
  unsigned numEdges = 0;
  ArrayRef<BlockArgument> arguments = op.getBlockArgumentEdgeOwners();
  if (!arguments.empty()) {
    builder.setInsertionPointToStart(arguments.front().getOwner());
    numEdges += addEdges(llvm::to_vector_of<Value>(arguments),
                         op.getBlockArgumentEdgeOwnerShardings(), builder);
  }
  builder.setInsertionPointAfter(op);
  return numEdges + addEdges(op.getOpResultEdgeOwners(),
                             op.getOpResultEdgeOwnerShardings(), builder);
}

namespace {
struct AddDataFlowEdgesPass
    : sdy::impl::AddDataFlowEdgesPassBase<AddDataFlowEdgesPass> {
  void runOnOperation() override {
    OpBuilder builder(&getContext());
    WalkResult result = getOperation().walk([&](DataFlowOpInterface op) {
      if (failed(verifyEdgeOwnerShardings(op)))
        return WalkResult::interrupt();
      numEdges += addDataFlowEdges(op, builder);
      return WalkResult::advance();
    });
    if (result.wasInterrupted())
      signalPassFailure();
  }
};
} // namespace
