//===- UserPriorityPropagate.cpp ------------------------------------------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

#include "meshwright/Dialect/Sdy/Propagation/StrategyPass.h"

#define GEN_PASS_DEF_USERPRIORITYPROPAGATEPASS
#include "meshwright/Dialect/Sdy/Propagation/Passes.h"

using namespace mlir;
using namespace mlir::sdy;

namespace {
struct UserPriorityPropagatePass
    : StrategyPass<UserPriorityPropagatePass,
                   sdy::impl::UserPriorityPropagatePassBase> {
  using StrategyPass::StrategyPass;

  void choose(PropagationConfig &options) const {
    options.strategy = strategy;
    options.byOpPriority = runOpPriorityPropagation;
  }
};
} // namespace
