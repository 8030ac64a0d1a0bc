//===- UserPriorityPropagate.cpp ------------------------------------------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

#include "meshwright/Dialect/Sdy/Propagation/SpreadShardings.h"

namespace mlir::sdy {
#define GEN_PASS_DEF_USERPRIORITYPROPAGATEPASS
#include "meshwright/Dialect/Sdy/Propagation/Passes.h.inc"
} // namespace mlir::sdy

using namespace mlir;
using namespace mlir::sdy;

namespace {
struct UserPriorityPropagatePass
    : sdy::impl::UserPriorityPropagatePassBase<UserPriorityPropagatePass> {
  using Base::Base;

  void runOnOperation() override {
    SpreadOptions options;
    options.strategy = strategy;
    options.byOpPriority = runOpPriorityPropagation;
    options.isConservative = conservativePropagation;
    options.keepShardingRules = keepShardingRules;
    options.debugShardingOrigins = debugShardingOrigins;
    options.debugPropagationEdgeSharding = debugPropagationEdgeSharding;
    options.dumpDirectory = moduleDumpDirectory;
    FailureOr<unsigned> numChanged = spreadShardings(getOperation(), options);
    if (failed(numChanged))
      return signalPassFailure();
    numShardings += *numChanged;
  }
};
} // namespace
