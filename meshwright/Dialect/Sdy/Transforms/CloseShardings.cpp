//===- CloseShardings.cpp -------------------------------------------------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// After propagation nothing may be split further. Dimensions close, and
// replicated axes, which only keep open dimensions from being split, have done
// their work.
//
//===----------------------------------------------------------------------===//

#include "meshwright/Dialect/Sdy/SdyDialect.h"
#include "meshwright/Dialect/Sdy/Transforms/ShardingWalk.h"

#define GEN_PASS_DEF_CLOSESHARDINGSPASS
#include "meshwright/Dialect/Sdy/Transforms/Passes.h"

using namespace mlir;
using namespace mlir::sdy;

static TensorShardingAttr closeSharding(TensorShardingAttr sharding) {
  auto dims = llvm::map_to_vector(
      sharding.getDimShardings(), [](DimensionShardingAttr dim) {
        // A closed dimension without axes has nothing to give priority to.
        return dim.emptyAxes()
                   ? DimensionShardingAttr::getClosed(dim.getContext())
                   : dim.getClosedCopy();
      });
  return sharding.replaceDimShardings(dims).replaceReplicatedAxes({});
}

namespace {
struct CloseShardingsPass
    : sdy::impl::CloseShardingsPassBase<CloseShardingsPass> {
  void runOnOperation() override {
    getOperation()->walk([&](ModuleOp module) {
      transformShardings(module, [&](TensorShardingAttr sharding) {
        TensorShardingAttr closed = closeSharding(sharding);
        numClosed += closed != sharding;
        return closed;
      });
    });
  }
};
} // namespace
