//===- RuleBasedMerge.cpp - Merges the fragments that rules name ----------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// A rule lists descriptions of fragments; all fragments of a mesh that match
// any of them become one, whether or not they depend on each other:
//
//   %0 = fragment f
//   %1 = fragment g          %0:2 = fragment f, h
//   %2 = fragment h   ->     %1   = fragment g        sources=[f,h],target=…
//
// The driver visits fragments from last to first. At the first one that a rule
// names, the others are looked up in an index, sorted by their dependencies,
// and merged from left to right; the result is where the first of them
// was. So it may be before an op that it reads, or after one that reads
// it, until the block is sorted at the end. That fails if a dependency leads
// out of the merged fragment and back into it. As the block does not show in
// which order its effects were meant by then, that is remembered.
//
// The scheduler may have kept control dependencies, to order what is merged;
// they are operands while this pass runs, and then removed.
//
//===----------------------------------------------------------------------===//

#include "meshwright/Dialect/Mpmd/MpmdDialect.h"
#include "meshwright/Fragments/ControlDependencies.h"
#include "meshwright/Fragments/Merge/MergeFragments.h"
#include "meshwright/Order/BlockOrder.h"
#include "meshwright/Order/BlockSort.h"
#include "meshwright/Order/EffectOrder.h"
#include "mlir/Analysis/TopologicalSortUtils.h"
#include "mlir/Transforms/GreedyPatternRewriteDriver.h"
#include "llvm/Support/ScopedPrinter.h"
#include <map>

#define GEN_PASS_DEF_RULEBASEDMERGEPASS
#include "meshwright/Optimize/Rules/Passes.h"

using namespace mlir;
using namespace mlir::mpmd;

namespace {
/// The rule that each description of a source belongs to.
using RuleOfSource = std::map<FragmentInfo, unsigned>;

/// The fragments of one mesh that one rule names.
struct Match {
  unsigned rule;
  DenseSet<Operation *> members; // Listed only in block order.
  /// Merging failed, and will fail again until the members change.
  bool isStuck = false;
};

/// Keeps track of the fragments that rules name while these are merged.
class MatchIndex : public BlockOrder {
public:
  MatchIndex(func::FuncOp func, const RuleOfSource &ruleOfSource)
      : ruleOfSource(ruleOfSource) {
    for (FragmentOp fragment : func.front().getOps<FragmentOp>())
      add(fragment);
  }

  /// To be called for a new fragment when it is complete.
  void add(FragmentOp fragment) {
    FragmentInfo info = getFragmentInfo(fragment);
    auto it = ruleOfSource.find(info);
    if (it == ruleOfSource.end())
      return;
    auto [index, isNew] =
        indices.try_emplace({it->second, info.meshName}, matches.size());
    if (isNew)
      matches.push_back({it->second, {}});
    matchOf[fragment] = index->second;
    Match &match = matches[index->second];
    match.members.insert(fragment);
    match.isStuck = false;
  }

  unsigned numMerged = 0;

  /// The match that `fragment` is part of, or null.
  Match *lookup(FragmentOp fragment) {
    auto it = matchOf.find(fragment);
    return it == matchOf.end() ? nullptr : &matches[it->second];
  }

  void notifyOperationErased(Operation *op) override {
    BlockOrder::notifyOperationErased(op);
    auto it = matchOf.find(op);
    if (it == matchOf.end())
      return;
    Match &match = matches[it->second];
    match.members.erase(op);
    match.isStuck = false;
    matchOf.erase(it);
  }

private:
  const RuleOfSource &ruleOfSource;
  std::vector<Match> matches;
  std::map<std::pair<unsigned, std::string>, unsigned> indices;
  DenseMap<Operation *, unsigned> matchOf;
};

class MergeMatch : public OpRewritePattern<FragmentOp> {
public:
  MergeMatch(MLIRContext *context, ArrayRef<FragmentMergeRule> rules,
             MatchIndex &index, FragmentMerger &merger, EffectOrder &effects,
             bool &hasError)
      : OpRewritePattern(context), rules(rules), index(index), merger(merger),
        effects(effects), hasError(hasError) {}

  LogicalResult matchAndRewrite(FragmentOp fragment,
                                PatternRewriter &rewriter) const override {
    Match *match = index.lookup(fragment);
    if (!match || match->isStuck || match->members.size() < 2)
      return failure();
    SmallVector<Operation *> members = listMembers(*match, fragment);
    const FragmentInfo &target = rules[match->rule].target;
    bool hasOnePlace = succeeded(verifyStages(members)) &&
                       succeeded(verifyMesh(members.front(), target));
    hasError |= !hasOnePlace;
    if (!hasOnePlace || !computeTopologicalSorting(members) ||
        failed(verifyEffectOrder(members))) {
      match->isStuck = true;
      return failure();
    }
    merge(members, target, rewriter);
    return success();
  }

private:
  SmallVector<Operation *> listMembers(const Match &match,
                                       FragmentOp fragment) const;
  static LogicalResult verifyStages(ArrayRef<Operation *> members);
  static LogicalResult verifyMesh(Operation *member,
                                  const FragmentInfo &target);
  LogicalResult verifyEffectOrder(ArrayRef<Operation *> members) const;
  void merge(ArrayRef<Operation *> members, const FragmentInfo &target,
             PatternRewriter &rewriter) const;

  ArrayRef<FragmentMergeRule> rules;
  MatchIndex &index;
  FragmentMerger &merger;
  EffectOrder &effects;
  bool &hasError;
};
} // namespace

/// The members of `match` in block order, but `fragment` last.
SmallVector<Operation *> MergeMatch::listMembers(const Match &match,
                                                 FragmentOp fragment) const {
  SmallVector<Operation *> members;
  for (Operation *member : match.members)
    if (member != fragment)
      members.push_back(member);
  llvm::sort(members,
             [&](Operation *a, Operation *b) { return index.isBefore(a, b); });
  members.push_back(fragment);
  return members;
}

LogicalResult MergeMatch::verifyStages(ArrayRef<Operation *> members) {
  FragmentOp staged;
  for (Operation *op : members) {
    auto member = cast<FragmentOp>(op);
    if (!member.getStageIdAttr())
      continue;
    if (staged && failed(verifySameStage(staged, member)))
      return failure();
    staged = member;
  }
  return success();
}

LogicalResult MergeMatch::verifyMesh(Operation *member,
                                     const FragmentInfo &target) {
  StringRef mesh = cast<FragmentOp>(member).getMeshName();
  if (mesh == target.meshName)
    return success();
  return member->emitError()
         << "a merge rule puts this fragment and others on mesh \""
         << target.meshName << "\", but their values are on mesh \"" << mesh
         << "\"; name that in the target of the rule";
}

LogicalResult
MergeMatch::verifyEffectOrder(ArrayRef<Operation *> members) const {
  if (effects.areAdjacent(members))
    return success();
  auto *first = llvm::find_if(
      members, [&](Operation *member) { return effects.contains(member); });
  hasError = true;
  InFlightDiagnostic diag =
      (*first)->emitError()
      << "a merge rule merges this fragment with a later one across the "
         "effects "
         "of another fragment of the mesh, which would no longer happen in "
         "their order; add that to the rule";
  diag.attachNote(effects.getNext(*first)->getLoc()) << "this has effects, too";
  return diag;
}

/// Merges `members` from left to right, and makes the result look like `target`
/// and puts it where the first member is.
void MergeMatch::merge(ArrayRef<Operation *> members,
                       const FragmentInfo &target,
                       PatternRewriter &rewriter) const {
  DenseSet<Operation *> merging(members.begin(), members.end());
  Operation *place = members.front()->getNextNode();
  while (merging.contains(place))
    place = place->getNextNode();

  FragmentGroup group(cast<FragmentOp>(members.front()));
  for (Operation *member : members.drop_front()) {
    FragmentGroup added(cast<FragmentOp>(member));
    group.append(added);
  }
  FragmentOp merged =
      merger.build(group, cast<FragmentOp>(members.back()),
                   MergedAttributes::ofNone(group.getMembers()), rewriter);
  effects.replace(members, merged);
  rewriter.modifyOpInPlace(merged, [&] { setFragmentInfo(merged, target); });
  rewriter.moveOpBefore(merged, place);
  index.add(merged);
  index.numMerged += members.size() - 1;
}

namespace {
struct RuleBasedMergePass
    : mpmd::impl::RuleBasedMergePassBase<RuleBasedMergePass> {
  using Base::Base;

  LogicalResult initialize(MLIRContext *context) override {
    ruleOfSource.clear();
    for (auto [i, rule] : llvm::enumerate(*rules))
      for (const FragmentInfo &source : rule.sources)
        if (!ruleOfSource.try_emplace(source, i).second)
          return emitError(UnknownLoc::get(context))
                 << "merge rules name the source " << llvm::to_string(source)
                 << " twice; each source must occur once over all rules";
    return success();
  }

  void runOnFunction(func::FuncOp func) override {
    if (failed(restoreControlDependencies(func)))
      return signalPassFailure();
    MatchIndex index(func, ruleOfSource);
    FragmentMerger merger;
    EffectOrder effects(func.front());
    bool hasError = false;
    RewritePatternSet patterns(&getContext());
    patterns.add<MergeMatch>(&getContext(), *rules, index, merger, effects,
                             hasError);
    // COMPAT(greedy-cleanup): The driver also removes dead ops.
    GreedyRewriteConfig config;
    config.setRegionSimplificationLevel(GreedySimplifyRegionLevel::Disabled)
        .enableFolding(false)
        .enableConstantCSE(false)
        .setListener(&index);
    if (failed(applyPatternsGreedily(func, std::move(patterns), config)) ||
        hasError)
      return signalPassFailure();
    merger.setLocations(func);
    numMerged += index.numMerged;

    if (!sort(func.front(), effects)) {
      func.emitError()
          << "Cycle of dependencies, not all fragments could be properly "
             "merged: merge rules make this cycle, so add the fragments "
             "between the sources to the rule, or split it";
      return signalPassFailure();
    }
    settleControlDependencies(func, removeControlDependencies);
  }

private:
  static bool sort(Block &block, const EffectOrder &effects) {
    BlockGraph graph(block, BlockGraph::Effects::Ignored);
    OrderConstraints constraints(graph);
    effects.forEachPair([&](Operation *first, Operation *second) {
      constraints.add(graph.getPosition(first), graph.getPosition(second));
    });
    return sortBlockTopologically(graph, constraints);
  }

  RuleOfSource ruleOfSource;
};
} // namespace
