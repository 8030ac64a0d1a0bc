//===- OpPriorityPropagate.cpp --------------------------------------------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

#include "meshwright/Dialect/Sdy/Propagation/StrategyPass.h"

#define GEN_PASS_DEF_OPPRIORITYPROPAGATEPASS
#include "meshwright/Dialect/Sdy/Propagation/Passes.h"

using namespace mlir;
using namespace mlir::sdy;

namespace {
struct OpPriorityPropagatePass
    : StrategyPass<OpPriorityPropagatePass,
                   sdy::impl::OpPriorityPropagatePassBase> {
  using StrategyPass::StrategyPass;

  void choose(PropagationConfig &options) const {
    options.strategy = strategy;
    options.byOpPriority = runOpPriorityPropagation;
    options.byUserPriority = false;
  }
};
} // namespace
