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
#include "meshwright/Dialect/Sdy/Calls/Passes.h"
#include "meshwright/Dialect/Sdy/Shardings.h"
#include "mlir/IR/Builders.h"

namespace mlir::sdy {
#define GEN_PASS_DEF_INSERTFUNCCALLRESHARDSPASS
#include "meshwright/Dialect/Sdy/Calls/Passes.h.inc"
} // namespace mlir::sdy

using namespace mlir;
using namespace mlir::sdy;

namespace {
struct InsertFuncCallReshardsPass
    : sdy::impl::InsertFuncCallReshardsPassBase<InsertFuncCallReshardsPass> {
  using Base::Base;

  void runOnOperation() override {
    SymbolTable symbols(getOperation());
    getOperation().walk([&](func::CallOp call) {
      if (func::FuncOp callee = getCallee(call, symbols)) {
        reshardOperands(call, callee);
        reshardResults(call, callee);
      }
    });
  }

private:
  void reshardOperands(func::CallOp call, func::FuncOp callee) {
    OpBuilder builder(call);
    for (OpOperand &operand : call->getOpOperands()) {
      TensorShardingAttr wanted =
          getArgSharding(callee, operand.getOperandNumber());
      if (!wanted || areEquivalent(getSharding(operand.get()), wanted))
        continue;
      operand.set(ReshardOp::create(builder, call.getLoc(),
                                    operand.get().getType(), operand.get(),
                                    wanted));
      ++numReshards;
    }
  }

  void reshardResults(func::CallOp call, func::FuncOp callee) {
    OpBuilder builder(&getContext());
    builder.setInsertionPointAfter(call);
    for (OpResult result : call->getResults()) {
      TensorShardingAttr given =
          getResultSharding(callee, result.getResultNumber());
      TensorShardingAttr wanted = getSharding(result);
      if (!given || areEquivalent(wanted, given))
        continue;
      setSharding(result, given);
      if (!wanted || result.use_empty())
        continue;
      auto reshard = ReshardOp::create(builder, call.getLoc(), result.getType(),
                                       result, wanted);
      result.replaceAllUsesExcept(reshard.getResult(), reshard);
      ++numReshards;
    }
  }
};
} // namespace
