//===- UserPriorityPropagate.cpp ------------------------------------------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// Shardings spread in rounds, from what is to be settled first to what is to be
// settled last:
//
//   for each priority of the user, 0 first      UserPriorities
//     for each level, elementwise ops first     OpPlans
//       for each strategy, basic first          FactorPropagation
//         a sweep over all ops                  Propagation
//
// Shardings are in a table all the while and return to the IR at the end.
//
//===----------------------------------------------------------------------===//

#include "meshwright/Dialect/Sdy/Propagation/Passes.h"
#include "meshwright/Dialect/Sdy/Propagation/Propagation.h"
#include "meshwright/Dialect/Sdy/Propagation/ShardingGroups.h"
#include "meshwright/Dialect/Sdy/Propagation/UserPriorities.h"
#include "meshwright/Dialect/Sdy/Rules/ShardingRules.h"
#include "meshwright/Dialect/Sdy/Transforms/MainFunction.h"
#include "llvm/ADT/DenseSet.h"

namespace mlir::sdy {
#define GEN_PASS_DEF_USERPRIORITYPROPAGATEPASS
#include "meshwright/Dialect/Sdy/Propagation/Passes.h.inc"
} // namespace mlir::sdy

using namespace mlir;
using namespace mlir::sdy;

namespace {
/// What one look at all ops tells.
struct Findings {
  bool hasGroups = false;
  bool hasRules = false;
};
} // namespace

/// Reports a result type that no sharding can be given.
static LogicalResult verifyType(Type type, Operation *op) {
  if (isa<TupleType>(type))
    return op->emitError() << "Shardy propagation doesn't support tuples: got "
                           << type << "; return the elements one by one";
  if (auto shaped = dyn_cast<ShapedType>(type);
      shaped && !shaped.hasStaticShape())
    return op->emitError() << "Shardy propagation only supports ranked tensors "
                              "with a static shape: got "
                           << type << "; make all dimensions static";
  return success();
}

static FailureOr<Findings> inspect(ModuleOp module) {
  Findings findings;
  auto ruleName = StringAttr::get(module.getContext(), kShardingRuleAttr);
  llvm::DenseSet<Type> verified; // Membership only: its order never shows.
  WalkResult result = module.walk([&](Operation *op) -> WalkResult {
    findings.hasGroups |= isa<ShardingGroupOp>(op);
    findings.hasRules |= !!op->getDiscardableAttr(ruleName);
    for (Type type : op->getResultTypes())
      if (!verified.contains(type)) {
        if (failed(verifyType(type, op)))
          return failure();
        verified.insert(type);
      }
    return WalkResult::advance();
  });
  if (result.wasInterrupted())
    return failure();
  return findings;
}

static void storeRules(ModuleOp module) {
  module.walk([](Operation *op) { getOrCreateShardingRule(op); });
}

/// Those of earlier passes; rules of the user stay.
static void dropRules(ModuleOp module) {
  auto name = StringAttr::get(module.getContext(), kShardingRuleAttr);
  module.walk([&](Operation *op) {
    auto rule =
        dyn_cast_or_null<OpShardingRuleAttr>(op->getDiscardableAttr(name));
    if (rule && !rule.isCustom())
      op->removeDiscardableAttr(name);
  });
}

static SmallVector<SpreadStrategy> getStrategies(PropagationStrategy strategy) {
  switch (strategy) {
  case PropagationStrategy::Basic:
    return {SpreadStrategy::Basic};
  case PropagationStrategy::Aggressive:
    return {SpreadStrategy::Aggressive};
  case PropagationStrategy::BasicThenAggressive:
    return {SpreadStrategy::Basic, SpreadStrategy::Aggressive};
  }
  llvm_unreachable("unknown strategy");
}

namespace {
struct UserPriorityPropagatePass
    : sdy::impl::UserPriorityPropagatePassBase<UserPriorityPropagatePass> {
  using Base::Base;

  void runOnOperation() override {
    ModuleOp module = getOperation();
    FailureOr<func::FuncOp> main = getMainFunction(module);
    if (failed(main))
      return signalPassFailure();
    FailureOr<Findings> findings = inspect(module);
    if (failed(findings))
      return signalPassFailure();
    ShardingGroups groups;
    if (findings->hasGroups)
      groups = getShardingGroups(module);
    synchronizeShardingGroups(groups);

    ShardingTable table(module);
    UserPriorities priorities(table, SymbolTable(module));
    Propagation propagation(module, *main, table, groups);
    auto strategies = getStrategies(strategy);
    propagation.run(strategies);
    for (int64_t priority : priorities.getPriorities()) {
      priorities.uncover(priority,
                         [&](unsigned slot) { propagation.noteChange(slot); });
      propagation.run(strategies);
    }
    numShardings += table.store();
    if (keepShardingRules)
      storeRules(module);
    else if (findings->hasRules)
      dropRules(module);
  }
};
} // namespace
