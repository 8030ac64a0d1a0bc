//===- PropagateShardingFromFuncToCall.cpp --------------------------------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// What a function promises about its results holds for its calls. A call that
// says something about its results itself is left to say it: there the caller
// wants another sharding.
//
//===----------------------------------------------------------------------===//

#include "meshwright/Dialect/Sdy/Calls/CallOrder.h"
#include "meshwright/Dialect/Sdy/Shardings.h"

#define GEN_PASS_DEF_PROPAGATESHARDINGFROMFUNCTOCALLPASS
#include "meshwright/Dialect/Sdy/Calls/Passes.h"

using namespace mlir;
using namespace mlir::sdy;

namespace {
struct PropagateShardingFromFuncToCallPass
    : sdy::impl::PropagateShardingFromFuncToCallPassBase<
          PropagateShardingFromFuncToCallPass> {
  void runOnOperation() override {
    SymbolTable symbols(getOperation());
    WalkResult result = getOperation().walk([&](func::CallOp call) {
      func::FuncOp callee = getCallee(call, symbols);
      if (!callee || call->hasAttr(kShardingAttr))
        return WalkResult::advance();
      if (failed(verifyManualAxes(call, callee)))
        return WalkResult::interrupt();
      setResultShardings(
          call, llvm::map_to_vector(llvm::seq(callee.getNumResults()),
                                    [&](unsigned index) {
                                      return getResultSharding(callee, index);
                                    }));
      numCalls += call->hasAttr(kShardingAttr);
      return WalkResult::advance();
    });
    if (result.wasInterrupted())
      signalPassFailure();
  }
};
} // namespace
