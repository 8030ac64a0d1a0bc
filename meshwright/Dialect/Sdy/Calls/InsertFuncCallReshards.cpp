//===- InsertFuncCallReshards.cpp -----------------------------------------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// A function says how its arguments and results are sharded, its callers how
// the values are that they pass and get. Where the two differ, the call is
// wrapped in reshards.
//
//===----------------------------------------------------------------------===//

#include "meshwright/Dialect/Sdy/Calls/CallOrder.h"
#include "meshwright/Dialect/Sdy/Shardings.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/Verifier.h"

#define GEN_PASS_DEF_INSERTFUNCCALLRESHARDSPASS
#include "meshwright/Dialect/Sdy/Calls/Passes.h"

using namespace mlir;
using namespace mlir::sdy;

namespace {
struct InsertFuncCallReshardsPass
    : sdy::impl::InsertFuncCallReshardsPassBase<InsertFuncCallReshardsPass> {
  void runOnOperation() override {
    SymbolTable symbols(getOperation());
    WalkResult result =
        getOperation().walk([&](func::CallOp call) -> WalkResult {
          func::FuncOp callee = getCallee(call, symbols);
          return failure(callee && (failed(verifyManualAxes(call, callee)) ||
                                    failed(reshardOperands(call, callee)) ||
                                    failed(reshardResults(call, callee))));
        });
    if (result.wasInterrupted())
      signalPassFailure();
  }

private:
  LogicalResult reshardOperands(func::CallOp call, func::FuncOp callee) {
    OpBuilder builder(call);
    for (OpOperand &operand : call->getOpOperands()) {
      TensorShardingAttr wanted =
          getArgSharding(callee, operand.getOperandNumber());
      if (!wanted || areEquivalent(getSharding(operand.get()), wanted))
        continue;
      auto reshard =
          ReshardOp::create(builder, call.getLoc(), operand.get().getType(),
                            operand.get(), wanted);
      // Not all shardings can be made of all others.
      if (failed(verify(reshard)))
        return failure();
      operand.set(reshard);
      ++numReshards;
    }
    return success();
  }

  /// What reads the result of a call: an edge stays right after it.
  static Value getBehindEdge(OpResult result) {
    auto edge = result.hasOneUse()
                    ? dyn_cast<FuncDataFlowEdgeOp>(*result.user_begin())
                    : FuncDataFlowEdgeOp();
    return edge ? edge.getResult() : Value(result);
  }

  LogicalResult reshardResults(func::CallOp call, func::FuncOp callee) {
    OpBuilder builder(&getContext());
    for (OpResult result : call->getResults()) {
      TensorShardingAttr given =
          getResultSharding(callee, result.getResultNumber());
      TensorShardingAttr wanted = getSharding(result);
      if (!given || areEquivalent(wanted, given))
        continue;
      setSharding(result, given);
      if (!wanted || result.use_empty())
        continue;
      Value after = getBehindEdge(result);
      builder.setInsertionPointAfterValue(after);
      auto reshard = ReshardOp::create(builder, call.getLoc(), result.getType(),
                                       after, wanted);
      if (failed(verify(reshard)))
        return failure();
      after.replaceAllUsesExcept(reshard.getResult(), reshard);
      ++numReshards;
    }
    return success();
  }
};
} // namespace
