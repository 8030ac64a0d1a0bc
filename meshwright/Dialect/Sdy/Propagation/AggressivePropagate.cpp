//===- AggressivePropagate.cpp --------------------------------------------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

#include "meshwright/Dialect/Sdy/Propagation/StrategyPass.h"

#define GEN_PASS_DEF_AGGRESSIVEPROPAGATEPASS
#include "meshwright/Dialect/Sdy/Propagation/Passes.h"

using namespace mlir;
using namespace mlir::sdy;

namespace {
struct AggressivePropagatePass
    : StrategyPass<AggressivePropagatePass,
                   sdy::impl::AggressivePropagatePassBase> {
  using StrategyPass::StrategyPass;

  void choose(PropagationConfig &options) const {
    options.strategy = strategy;
    options.byOpPriority = options.byUserPriority = false;
  }
};
} // namespace
