//===- PairFuser.cpp - Makes one fragment of each pair --------------------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

#include "meshwright/Export/Pairs/PairFuser.h"
#include "meshwright/Fragments/Merge/FragmentGroup.h"
#include "meshwright/Fragments/Merge/MergedAttributes.h"
#include "meshwright/Fragments/Overlap.h"
#include "meshwright/Order/BlockGraph.h"
#include "meshwright/Order/BlockSort.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SmallPtrSet.h"

using namespace mlir;
using namespace mlir::mpmd;

/// What the fragment of a pair says it is. Its parts have the results that something
/// else reads; of the last fragment, all.
static MergedAttributes describePair(const MarkedPair &pair) {
  SmallVector<FragmentOp, 3> members = pair.getMembers();
  SmallPtrSet<Operation *, 4> inside(members.begin(), members.end());
  auto countResults = [&](ArrayRef<FragmentOp> part) {
    unsigned count = 0;
    for (FragmentOp fragment : part)
      for (OpResult result : fragment->getResults())
        count += fragment == members.back() ||
                 llvm::any_of(result.getUsers(), [&](Operation *user) {
                   return !inside.contains(user);
                 });
    return count;
  };
  auto describePart = [&](ArrayRef<FragmentOp> part) {
    MergedAttributes attributes = MergedAttributes::ofNone(part);
    return OverlappedPart{attributes.origin, attributes.stage,
                          countResults(part)};
  };
  OverlappedPart first = describePart(pair.first);
  OverlappedPart second = describePart(pair.second);
  MergedAttributes result = MergedAttributes::ofNone(members);
  if (first.stage != second.stage)
    result.stage = {};
  MLIRContext *context = FragmentOp(members.front()).getContext();
  NamedAttrList others;
  others.set(kOverlappedAttr, getOverlappedAttr(context, {first, second}));
  result.others = others.getDictionary(context);
  result.keepsEntries = true;
  return result;
}

/// Fragments of a mesh have their order, and effects keep theirs.
static LogicalResult sortBlock(func::FuncOp func,
                               ArrayRef<SmallVector<Operation *>> queues,
                               const EffectOrder &effects) {
  BlockGraph graph(func.front(), BlockGraph::Effects::Ignored);
  OrderConstraints constraints(graph);
  for (ArrayRef<Operation *> queue : queues)
    for (auto [before, after] : llvm::zip(queue, queue.drop_front()))
      if (before != after)
        constraints.add(graph.getPosition(before), graph.getPosition(after));
  effects.forEachPair([&](Operation *first, Operation *second) {
    constraints.add(graph.getPosition(first), graph.getPosition(second));
  });
  if (sortBlockTopologically(graph, constraints))
    return success();
  return func.emitError() << "overlapped pairs wait for each other; turn "
                             "mpmd_fuse_overlapped_pairs off";
}

void PairFuser::fuse(const MarkedPair &pair) {
  SmallVector<FragmentOp, 3> members = pair.getMembers();
  MergedAttributes attributes = describePair(pair);
  FragmentGroup group(members.front());
  SmallVector<Operation *> ops{members.front()};
  for (FragmentOp member : ArrayRef(members).drop_front()) {
    FragmentGroup added(member);
    group.append(added);
    ops.push_back(member);
  }
  FragmentOp fused = merger.build(group, members.back(), attributes, rewriter);
  effects.replace(ops, fused);
  allFused.push_back(fused);
  for (Operation *op : ops)
    fusedOf[op] = fused;
}

LogicalResult
PairFuser::finish(func::FuncOp func,
                  MutableArrayRef<SmallVector<Operation *>> queues) {
  merger.setLocations(func);
  for (SmallVector<Operation *> &queue : queues)
    for (Operation *&op : queue)
      if (Operation *fused = fusedOf.lookup(op))
        op = fused;
  return sortBlock(func, queues, effects);
}
