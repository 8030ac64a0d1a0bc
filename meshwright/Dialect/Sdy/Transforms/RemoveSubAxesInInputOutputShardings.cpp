//===- RemoveSubAxesInInputOutputShardings.cpp ----------------------------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// The caller of the main function can often not split by a part of an axis.
// Propagation put sub-axes only where the user left a dimension open; there
// they go again, with all axes after them.
//
//===----------------------------------------------------------------------===//

#include "meshwright/Dialect/Sdy/SdyDialect.h"
#include "meshwright/Dialect/Sdy/Transforms/MainFunction.h"
#include "meshwright/Dialect/Sdy/Transforms/ShardingWalk.h"

#define GEN_PASS_DEF_REMOVESUBAXESININPUTOUTPUTSHARDINGSPASS
#include "meshwright/Dialect/Sdy/Transforms/Passes.h"

using namespace mlir;
using namespace mlir::sdy;

static TensorShardingAttr cutBeforeSubAxes(TensorShardingAttr sharding) {
  return sharding.replaceDimShardings(llvm::map_to_vector(
      sharding.getDimShardings(), [](DimensionShardingAttr dim) {
        if (dim.getIsClosed())
          return dim;
        return dim.replaceAxes(dim.getAxes().take_while(
            [](AxisRefAttr axis) { return axis.isFullAxis(); }));
      }));
}

namespace {
struct RemoveSubAxesInInputOutputShardingsPass
    : sdy::impl::RemoveSubAxesInInputOutputShardingsPassBase<
          RemoveSubAxesInInputOutputShardingsPass> {
  void runOnOperation() override {
    FailureOr<func::FuncOp> main = getMainFunction(getOperation());
    if (failed(main))
      return signalPassFailure();
    transformSignature(*main, [&](TensorShardingAttr sharding) {
      TensorShardingAttr cut = cutBeforeSubAxes(sharding);
      numCut += cut != sharding;
      return cut;
    });
  }
};
} // namespace
