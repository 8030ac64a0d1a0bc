//===- PropagateShardings.cpp - All of propagation, once ------------------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// Shardings propagate in rounds, from what is to be settled first to what is to be
// settled last:
//
//   for each priority of the user, 0 first      UserPriorities
//     for each level, elementwise ops first     OpPlans
//       for each strategy, basic first          FactorPropagation
//         a sweep over all ops                  Propagation
//
// The passes differ in which of these loops there are. Shardings are in a table
// all the while and return to the IR at the end.
//
//===----------------------------------------------------------------------===//

#include "meshwright/Dialect/Sdy/Propagation/PropagateShardings.h"
#include "meshwright/Dialect/Sdy/Propagation/DebugAttributes.h"
#include "meshwright/Dialect/Sdy/Propagation/Propagation.h"
#include "meshwright/Dialect/Sdy/Propagation/ShardingGroups.h"
#include "meshwright/Dialect/Sdy/Propagation/UserPriorities.h"
#include "meshwright/Dialect/Sdy/Rules/ShardingRules.h"
#include "meshwright/Dialect/Sdy/ShardingVerification.h"
#include "meshwright/Dialect/Sdy/Shardings.h"
#include "meshwright/Dialect/Sdy/SharedBodyCall.h"
#include "meshwright/Dialect/Sdy/Transforms/MainFunction.h"
#include "meshwright/Dialect/Sdy/Transforms/ShardingWalk.h"
#include "meshwright/Text/WholeFile.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "llvm/ADT/DenseSet.h"
#include "llvm/ADT/SmallString.h"
#include "llvm/Support/Path.h"

using namespace mlir;
using namespace mlir::sdy;

namespace {
/// The result of one walk over all ops.
struct Findings {
  /// Whether there is an axis or a priority, an op that may bring some along, or
  /// one without uses, which goes while shardings propagate.
  bool hasWork = false;
  bool hasGroups = false;
  bool hasRules = false;
  bool hasFuncEdges = false;
  SmallVector<Operation *> collectives;
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

static bool isInSharedBody(Operation *op) {
  auto func = op->getParentOfType<func::FuncOp>();
  return func && sdy::isSharedBody(func);
}

/// Reports an op of a shared body that is not the same for each of its calls.
static LogicalResult verifyInBody(Operation *op) {
  if (!isa<ManualComputationOp, sdy::NamedComputationOp, ShardingGroupOp,
           CallOpInterface>(op) ||
      !isInSharedBody(op))
    return success();
  return op->emitOpError()
         << "is in a function with the attribute " << sdy::kSharedBody
         << ", where shardings do not propagate through it; run "
            "mpmd-unshare-bodies before";
}

static bool bringsWork(TensorShardingAttr sharding) {
  return sharding && (sharding.anyOfAxisRef([](AxisRefAttr) { return true; }) ||
                      llvm::any_of(sharding.getDimShardings(),
                                   [](DimensionShardingAttr dim) {
                                     return dim.getPriority().has_value();
                                   }));
}

static bool signatureBringsWork(func::FuncOp func) {
  return llvm::any_of(llvm::seq(func.getNumArguments()),
                      [&](unsigned index) {
                        return bringsWork(getArgSharding(func, index));
                      }) ||
         llvm::any_of(llvm::seq(func.getNumResults()), [&](unsigned index) {
           return bringsWork(getResultSharding(func, index));
         });
}

/// Whether shardings may change, or ops go, because of an op.
static bool bringsWork(Operation *op, StringAttr shardingName) {
  if (op->use_empty() && isOpTriviallyDead(op))
    return true;
  if (auto func = dyn_cast<func::FuncOp>(op))
    return signatureBringsWork(func);
  if (auto edge = dyn_cast<DataFlowEdgeOp>(op))
    return bringsWork(edge.getShardingAttr());
  if (auto flow = dyn_cast<DataFlowOpInterface>(op);
      flow && !isa<ManualComputationOp>(op)) {
    auto isWork = [](TensorShardingAttr sharding) {
      return bringsWork(sharding);
    };
    return llvm::any_of(flow.getBlockArgumentEdgeOwnerShardings(), isWork) ||
           llvm::any_of(flow.getOpResultEdgeOwnerShardings(), isWork);
  }
  return op->getDiscardableAttr(shardingName) ||
         (isa_and_nonnull<SdyDialect>(op->getDialect()) &&
          !isa<MeshOp, ConstantOp, sdy::ReturnOp>(op));
}

static FailureOr<Findings> inspect(ModuleOp module) {
  Findings findings;
  auto shardingName = StringAttr::get(module.getContext(), kShardingAttr);
  auto ruleName = StringAttr::get(module.getContext(), kShardingRuleAttr);
  llvm::DenseSet<Type> verified; // Membership only: its order never shows.
  WalkResult result = walkOwnOps(module, [&](Operation *op) -> WalkResult {
    if (!findings.hasWork)
      findings.hasWork = bringsWork(op, shardingName);
    findings.hasGroups |= isa<ShardingGroupOp>(op);
    findings.hasFuncEdges |= isa<FuncDataFlowEdgeOp>(op);
    findings.hasRules |= !!op->getDiscardableAttr(ruleName);
    if (isCollective(op) && !isInSharedBody(op))
      findings.collectives.push_back(op);
    if (failed(verifyInBody(op)))
      return failure();
    if (auto flow = dyn_cast<DataFlowOpInterface>(op);
        flow && failed(verifyEdgeOwnerShardings(flow)))
      return failure();
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

static SmallVector<FactorStrategy> getStrategies(PropagationStrategy strategy) {
  switch (strategy) {
  case PropagationStrategy::Basic:
    return {FactorStrategy::Basic};
  case PropagationStrategy::Aggressive:
    return {FactorStrategy::Aggressive};
  case PropagationStrategy::BasicThenAggressive:
    return {FactorStrategy::Basic, FactorStrategy::Aggressive};
  }
  llvm_unreachable("unknown strategy");
}

/// Writes the module, with the rules of its ops, into a folder.
static LogicalResult dump(ModuleOp module, StringRef directory,
                          int64_t priority) {
  storeRules(module);
  SmallString<128> path(directory);
  llvm::sys::path::append(path, "00.propagation_after_user_priority_" +
                                    Twine(priority) + ".mlir");
  if (llvm::Error error =
          meshwright::writeWholeFile(path, [&](llvm::raw_ostream &os) {
            module.print(os);
            return llvm::Error::success();
          }))
    return module.emitError()
           << "module-dump-directory: " << llvm::toString(std::move(error))
           << "; expected a folder that exists and can be written to";
  return success();
}

/// Whether more is asked of propagation than its result.
static bool isObserved(const PropagationConfig &options) {
  return options.debugShardingOrigins || options.debugPropagationEdgeSharding ||
         options.keepShardingRules || !options.dumpDirectory.empty();
}

FailureOr<unsigned> sdy::propagateShardings(ModuleOp module,
                                            const PropagationConfig &options,
                                            PropagationListener onEnd) {
  FailureOr<func::FuncOp> main = getMainFunction(module);
  if (failed(main))
    return failure();
  FailureOr<Findings> findings = inspect(module);
  if (failed(findings))
    return failure();
  if (!findings->hasWork && !isObserved(options) && !onEnd) {
    if (findings->hasRules)
      dropRules(module);
    return 0u;
  }
  ShardingGroups groups;
  if (findings->hasGroups)
    groups = getShardingGroups(module);
  synchronizeShardingGroups(groups);

  ShardingTable table(module);
  PropagationLog log;
  std::optional<ShardingOrigins> origins;
  if (options.debugShardingOrigins || onEnd)
    origins.emplace(module, *main, table);
  std::optional<UserPriorities> userPriorities;
  SmallVector<int64_t> priorities = {0};
  if (options.byUserPriority) {
    userPriorities.emplace(table, SymbolTable(module));
    llvm::append_range(priorities, userPriorities->getPriorities());
  }
  bool isLogged = origins || options.debugPropagationEdgeSharding;
  Propagation propagation(module, *main, table, groups,
                          {options.byOpPriority ? 0 : kLastLevel,
                           options.isConservative, isLogged ? &log : nullptr,
                           findings->collectives, findings->hasFuncEdges});
  unsigned numChanged = 0;
  bool dumps = options.byUserPriority && !options.dumpDirectory.empty();
  for (auto [round, priority] : llvm::enumerate(priorities)) {
    if (round > 0)
      userPriorities->uncover(
          priority, [&](unsigned slot) { propagation.noteChange(slot); });
    propagation.run(getStrategies(options.strategy));
    // What the last priority leaves is the result.
    if (!dumps || (round > 0 && priority == priorities.back()))
      continue;
    numChanged += table.store();
    if (failed(dump(module, options.dumpDirectory, priority)))
      return failure();
  }
  numChanged += table.store();

  if (origins)
    origins->follow(log);
  if (options.debugShardingOrigins)
    origins->write(module);
  if (options.debugPropagationEdgeSharding)
    writeEdges(log, table, *main);
  if (onEnd)
    onEnd(table, *origins, log);
  if (options.keepShardingRules)
    storeRules(module);
  else if (findings->hasRules || dumps)
    dropRules(module);
  return numChanged;
}
