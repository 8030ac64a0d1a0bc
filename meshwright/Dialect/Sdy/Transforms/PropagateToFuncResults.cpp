//===- PropagateToFuncResults.cpp -----------------------------------------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// Propagation exchanges shardings between the returned values and the results
// of the main function only. Other functions are new, made of named
// computations; what they return is what their results are.
//
//===----------------------------------------------------------------------===//

#include "meshwright/Dialect/Sdy/Shardings.h"
#include "meshwright/Dialect/Sdy/SignatureShardings.h"
#include "meshwright/Dialect/Sdy/Transforms/MainFunction.h"

#define GEN_PASS_DEF_PROPAGATETOFUNCRESULTSPASS
#include "meshwright/Dialect/Sdy/Transforms/Passes.h"

using namespace mlir;
using namespace mlir::sdy;

namespace {
struct PropagateToFuncResultsPass
    : sdy::impl::PropagateToFuncResultsPassBase<PropagateToFuncResultsPass> {
  void runOnOperation() override {
    auto funcs = getOperation().getOps<func::FuncOp>();
    if (funcs.empty())
      return;
    FailureOr<func::FuncOp> main = getMainFunction(getOperation());
    if (failed(main))
      return signalPassFailure();
    for (func::FuncOp func : funcs) {
      if (func == *main || !func.getBody().hasOneBlock())
        continue;
      // The verifier lets functions end in other ops, which return what they like.
      auto terminator =
          dyn_cast<func::ReturnOp>(func.getBody().front().getTerminator());
      if (!terminator)
        continue;
      updateSignatureShardings(func, [&](const SignatureEntry &entry) {
        if (!entry.isResult)
          return entry.sharding;
        TensorShardingAttr sharding =
            getSharding(terminator.getOperand(entry.index));
        if (!sharding || sharding == entry.sharding)
          return entry.sharding;
        ++numResults;
        return sharding;
      });
    }
  }
};
} // namespace
