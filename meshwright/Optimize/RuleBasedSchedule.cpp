//===- RuleBasedSchedule.cpp - Orders fragments by the user's rules -------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// A rule lists descriptions of fragments in the order in which they must run:
//
//   FragmentScheduleRule(ordered_fragments=[a->b->c])
//
// Each fragment of it is put behind the one before, where data flow and earlier
// rules do not say otherwise. A description that fits no fragment is passed
// over, so with b missing, a still runs before c.
//
//===----------------------------------------------------------------------===//

#include "meshwright/Common/BlockSort.h"
#include "meshwright/Common/ControlDependencies.h"
#include "meshwright/Dialect/Mpmd/FragmentInfo.h"
#include "meshwright/Dialect/Mpmd/Fragments.h"
#include "meshwright/Dialect/Mpmd/Functions.h"
#include "meshwright/Optimize/BlockDependencies.h"
#include "meshwright/Optimize/Passes.h"
#include "llvm/Support/DebugLog.h"
#include <map>

#define DEBUG_TYPE "mpmd-rule-based-schedule"

namespace mlir::mpmd {
#define GEN_PASS_DEF_RULEBASEDSCHEDULEPASS
#include "meshwright/Optimize/Passes.h.inc"
} // namespace mlir::mpmd

using namespace mlir;
using namespace mlir::mpmd;

using FragmentsByInfo = std::map<FragmentInfo, FragmentOp>;

/// Registers the user fragments of a function. Two that fit one description
/// could not be told apart by rules.
static LogicalResult registerFragments(func::FuncOp func,
                                       FragmentsByInfo &fragments) {
  bool areDistinct = true;
  func.walk(
      [&](FragmentOp fragment) {
        if (isInferredFragment(fragment))
          return;
        FragmentInfo info = getFragmentInfo(fragment);
        auto [known, isNew] = fragments.try_emplace(info, fragment);
        if (isNew)
          return;
        areDistinct = false;
        std::string text;
        llvm::raw_string_ostream(text) << info;
        InFlightDiagnostic diag =
            func.emitError()
            << "two fragments fit the description " << text
            << "; rules need distinct ones: do two named computations share a "
               "name?";
        diag.attachNote(known->second.getLoc()) << "this is one of them";
        diag.attachNote(fragment.getLoc()) << "this is the other";
      });
  return success(areDistinct);
}

namespace {
class RuleApplier {
public:
  RuleApplier(func::FuncOp func, const FragmentsByInfo &fragments)
      : block(&func.front()), graph(func.front()), fragments(fragments) {}

  LogicalResult apply(const FragmentScheduleRule &rule);

private:
  FragmentOp find(const FragmentInfo &info) const {
    auto known = fragments.find(info);
    if (known == fragments.end())
      LDBG() << "no fragment fits " << info;
    return known == fragments.end() ? FragmentOp() : known->second;
  }
  LogicalResult order(FragmentOp first, FragmentOp second);

  Block *block;
  BlockDependencies graph;
  const FragmentsByInfo &fragments;
};
} // namespace

LogicalResult RuleApplier::order(FragmentOp first, FragmentOp second) {
  if (first == second)
    return success();
  if (first.getMeshName() != second.getMeshName()) {
    LDBG() << "fragments of different meshes are not ordered";
    return success();
  }
  for (FragmentOp fragment : {first, second})
    if (fragment->getBlock() != block)
      return fragment.emitError()
             << "is named by a rule, but not directly in the function body";
  unsigned from = graph.getPosition(first), to = graph.getPosition(second);
  if (graph.hasPath(from, to))
    return success();
  if (graph.hasPath(to, from)) {
    LDBG() << "data flow contradicts " << getFragmentInfo(first) << "->"
           << getFragmentInfo(second);
    return success();
  }
  if (first->getNumResults() == 0)
    return first.emitError() << "is named by a rule, but has no result by "
                                "which another fragment could wait for it";
  graph.addEdge(from, to);
  addControlDependency(first, second);
  return success();
}

LogicalResult RuleApplier::apply(const FragmentScheduleRule &rule) {
  if (rule.orderedFragments.size() < 2)
    return success();
  FragmentOp predecessor = find(rule.orderedFragments.front());
  for (const FragmentInfo &info :
       ArrayRef(rule.orderedFragments).drop_front()) {
    FragmentOp successor = find(info);
    if (predecessor && !successor)
      continue;
    if (predecessor && failed(order(predecessor, successor)))
      return failure();
    predecessor = successor;
  }
  return success();
}

namespace {
struct RuleBasedSchedulePass
    : mpmd::impl::RuleBasedSchedulePassBase<RuleBasedSchedulePass> {
  using Base::Base;

  void runOnOperation() override {
    func::FuncOp func = getOperation();
    if (func.isDeclaration() || !isMpmdFunction(func))
      return markAllAnalysesPreserved();

    FragmentsByInfo fragments;
    if (failed(registerFragments(func, fragments)))
      return signalPassFailure();
    RuleApplier applier(func, fragments);
    for (const FragmentScheduleRule &rule : rules)
      if (failed(applier.apply(rule))) {
        removeControlDependencies(func);
        return signalPassFailure();
      }
    sortBlockTopologically(func.front());
    if (removeDependencies)
      removeControlDependencies(func);
  }
};
} // namespace
