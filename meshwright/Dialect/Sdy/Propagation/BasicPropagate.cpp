//===- BasicPropagate.cpp -------------------------------------------------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

#include "meshwright/Dialect/Sdy/Propagation/StrategyPass.h"

#define GEN_PASS_DEF_BASICPROPAGATEPASS
#include "meshwright/Dialect/Sdy/Propagation/Passes.h"

using namespace mlir;
using namespace mlir::sdy;

namespace {
struct BasicPropagatePass
    : StrategyPass<BasicPropagatePass, sdy::impl::BasicPropagatePassBase> {
  using StrategyPass::StrategyPass;

  void choose(PropagationConfig &options) const {
    options.strategy = PropagationStrategy::Basic;
    options.byOpPriority = options.byUserPriority = false;
  }
};
} // namespace
