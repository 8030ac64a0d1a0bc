//===- BasicPropagate.cpp -------------------------------------------------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

#include "meshwright/Dialect/Sdy/Propagation/SpreadShardings.h"

namespace mlir::sdy {
#define GEN_PASS_DEF_BASICPROPAGATEPASS
#include "meshwright/Dialect/Sdy/Propagation/Passes.h.inc"
} // namespace mlir::sdy

using namespace mlir;
using namespace mlir::sdy;

namespace {
struct BasicPropagatePass
    : sdy::impl::BasicPropagatePassBase<BasicPropagatePass> {
  using Base::Base;

  void runOnOperation() override {
    SpreadOptions options;
    options.strategy = PropagationStrategy::Basic;
    options.byOpPriority = options.byUserPriority = false;
    options.isConservative = conservativePropagation;
    options.keepShardingRules = keepShardingRules;
    options.debugShardingOrigins = debugShardingOrigins;
    options.debugPropagationEdgeSharding = debugPropagationEdgeSharding;
    FailureOr<unsigned> numChanged = spreadShardings(getOperation(), options);
    if (failed(numChanged))
      return signalPassFailure();
    numShardings += *numChanged;
  }
};
} // namespace
