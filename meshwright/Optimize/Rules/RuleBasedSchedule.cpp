//===- RuleBasedSchedule.cpp - Orders fragments by the user's rules -------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// A rule lists descriptions of fragments in the order in which they must run:
//
//   FragmentScheduleRule(ordered_fragments=[a->b->c])
//
// Each fragment of it is put after the one before, where data flow and earlier
// rules do not say otherwise. A description that fits no fragment is passed
// over, so with b missing, a still runs before c.
//
//===----------------------------------------------------------------------===//

#include "meshwright/Dialect/Mpmd/Fragments.h"
#include "meshwright/Fragments/ControlDependencies.h"
#include "meshwright/Fragments/FragmentInfo.h"
#include "meshwright/Optimize/Rules/BlockDependencies.h"
#include "meshwright/Order/BlockSort.h"
#include "meshwright/Text/LocationText.h"
#include "meshwright/Text/NearestName.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/DebugLog.h"
#include "llvm/Support/ScopedPrinter.h"
#include <map>
#include <set>

#define DEBUG_TYPE "mpmd-rule-based-schedule"

#define GEN_PASS_DEF_RULEBASEDSCHEDULEPASS
#include "meshwright/Optimize/Rules/Passes.h"

using namespace mlir;
using namespace mlir::mpmd;

using FragmentsByInfo = std::map<FragmentInfo, FragmentOp>;

/// Registers the user fragments of a function. Two that fit one description
/// could not be distinguished by rules.
static LogicalResult registerFragments(func::FuncOp func,
                                       FragmentsByInfo &fragments) {
  bool areDistinct = true;
  func.walk([&](FragmentOp fragment) {
    if (isInferredFragment(fragment))
      return;
    FragmentInfo info = getFragmentInfo(fragment);
    auto [known, isNew] = fragments.try_emplace(info, fragment);
    if (isNew)
      return;
    areDistinct = false;
    func.emitError()
        << "two fragments fit the description " << llvm::to_string(info)
        << "; rules need distinct ones: do two named computations share a "
           "name? They are at "
        << getLocationText(known->second.getLoc()) << " and at "
        << getLocationText(fragment.getLoc());
  });
  return success(areDistinct);
}

namespace {
class RuleApplier {
public:
  RuleApplier(func::FuncOp func, const FragmentsByInfo &fragments,
              bool reportUnmet)
      : func(func), graph(func.front()), fragments(fragments),
        reportUnmet(reportUnmet) {}

  LogicalResult apply(const FragmentScheduleRule &rule);
  unsigned getNumOrdered() const { return numOrdered; }
  unsigned getNumConflicts() const { return numConflicts; }

private:
  FragmentOp find(const FragmentInfo &info);
  LogicalResult order(FragmentOp first, FragmentOp second);
  void reportConflict(FragmentOp first, FragmentOp second) const;

  func::FuncOp func;
  BlockDependencies graph;
  const FragmentsByInfo &fragments;
  bool reportUnmet;
  std::set<FragmentInfo> reported; ///< Each description once.
  unsigned numOrdered = 0, numConflicts = 0;
};
} // namespace

FragmentOp RuleApplier::find(const FragmentInfo &info) {
  auto known = fragments.find(info);
  if (known != fragments.end())
    return known->second;
  LDBG() << "no fragment fits " << info;
  if (!reportUnmet || !reported.insert(info).second)
    return {};
  InFlightDiagnostic diag = func.emitWarning()
                            << "no fragment fits the description "
                            << llvm::to_string(info) << " of a schedule rule";
  std::map<std::string, Location> byText;
  for (auto [other, fragment] : fragments)
    byText.emplace(llvm::to_string(other), fragment.getLoc());
  std::string nearest =
      meshwright::findNearest(
          llvm::to_string(info),
          llvm::to_vector_of<StringRef>(llvm::make_first_range(byText)))
          .str();
  if (!nearest.empty())
    diag.attachNote(byText.at(nearest)) << "the nearest is " << nearest;
  return {};
}

void RuleApplier::reportConflict(FragmentOp first, FragmentOp second) const {
  LDBG() << "data flow contradicts " << getFragmentInfo(first) << "->"
         << getFragmentInfo(second);
  if (!reportUnmet)
    return;
  InFlightDiagnostic diag =
      first.emitWarning()
      << "a schedule rule puts this before another fragment that it depends "
         "on, by its operands or by earlier rules; the rule is not followed "
         "there";
  diag.attachNote(second.getLoc()) << "this is the other fragment";
}

LogicalResult RuleApplier::order(FragmentOp first, FragmentOp second) {
  if (first == second)
    return success();
  if (first.getMeshName() != second.getMeshName()) {
    LDBG() << "fragments of different meshes are not ordered";
    return success();
  }
  for (FragmentOp fragment : {first, second})
    if (fragment->getBlock() != &func.front())
      return fragment.emitError()
             << "is named by a rule, but not directly in the function body; "
                "only fragments there can be ordered";
  unsigned from = graph.getPosition(first), to = graph.getPosition(second);
  if (graph.hasPath(from, to))
    return success();
  if (graph.hasPath(to, from)) {
    ++numConflicts;
    reportConflict(first, second);
    return success();
  }
  if (first->getNumResults() == 0)
    return first.emitError() << "is named by a rule, but has no result by "
                                "which another fragment could wait for it; "
                                "return a value from it";
  graph.addEdge(from, to);
  addControlDependency(first, second);
  ++numOrdered;
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

  void runOnFunction(func::FuncOp func) override {
    FragmentsByInfo fragments;
    if (failed(registerFragments(func, fragments)) ||
        failed(restoreControlDependencies(func)))
      return signalPassFailure();
    RuleApplier applier(func, fragments, reportUnmet);
    for (const FragmentScheduleRule &rule : rules)
      if (failed(applier.apply(rule))) {
        removeControlDependencies(func);
        return signalPassFailure();
      }
    numOrdered += applier.getNumOrdered();
    numConflicts += applier.getNumConflicts();
    sortBlockTopologically(func.front());
    settleControlDependencies(func, removeDependencies);
  }
};
} // namespace
