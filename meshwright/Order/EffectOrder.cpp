//===- EffectOrder.cpp - The order in which a block acts ------------------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

#include "meshwright/Order/EffectOrder.h"
#include "meshwright/Dialect/Mpmd/Effects.h"
#include "meshwright/Order/BlockGraph.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/STLExtras.h"

using namespace mlir;
using namespace mlir::mpmd;

void mpmd::forEachEffectPair(
    Block &block, llvm::function_ref<void(Operation *, Operation *)> add) {
  // The last op with effects on each mesh, and the last on any.
  llvm::MapVector<StringAttr, Operation *> lastOnMesh;
  Operation *lastOnAny = nullptr;
  for (Operation &op : getOpsBeforeTerminator(block)) {
    if (!hasOrderedEffects(&op))
      continue;
    if (auto fragment = dyn_cast<FragmentOp>(op)) {
      Operation *&last = lastOnMesh[fragment.getMeshNameAttr()];
      if (!last)
        last = lastOnAny;
      if (last)
        add(last, &op);
      last = &op;
      continue;
    }
    if (lastOnMesh.empty() && lastOnAny)
      add(lastOnAny, &op);
    for (auto &[mesh, last] : lastOnMesh)
      add(last, &op);
    lastOnMesh.clear();
    lastOnAny = &op;
  }
}

EffectOrder::EffectOrder(Block &block) {
  for (FragmentOp fragment : block.getOps<FragmentOp>())
    if (hasOrderedEffects(fragment))
      neighbors.try_emplace(fragment);
  if (neighbors.empty())
    return;
  forEachEffectPair(block, [&](Operation *first, Operation *second) {
    if (auto it = neighbors.find(first); it != neighbors.end())
      it->second.next = second;
    if (auto it = neighbors.find(second); it != neighbors.end())
      it->second.previous = first;
  });
}

bool EffectOrder::mayMoveDown(Operation *fragment, Operation *to,
                              IsBefore isBefore) const {
  if (!contains(fragment))
    return true;
  Operation *next = getNext(fragment);
  return !next || next == to || isBefore(to, next);
}

bool EffectOrder::mayMoveUp(Operation *fragment, Operation *to,
                            IsBefore isBefore) const {
  if (!contains(fragment))
    return true;
  Operation *previous = getPrevious(fragment);
  return !previous || previous == to || isBefore(previous, to);
}

bool EffectOrder::areAdjacent(ArrayRef<Operation *> fragments) const {
  Operation *last = nullptr;
  for (Operation *fragment : fragments) {
    if (!contains(fragment))
      continue;
    if (last && getNext(last) != fragment)
      return false;
    last = fragment;
  }
  return true;
}

void EffectOrder::forEachPair(
    llvm::function_ref<void(Operation *, Operation *)> add) const {
  for (const auto &[fragment, around] : neighbors) {
    if (around.previous)
      add(around.previous, fragment);
    if (around.next)
      add(fragment, around.next);
  }
}

void EffectOrder::replace(ArrayRef<Operation *> fragments, Operation *merged) {
  SmallVector<Operation *> replaced;
  llvm::copy_if(fragments, std::back_inserter(replaced),
                [&](Operation *fragment) { return contains(fragment); });
  if (replaced.empty())
    return;
  Neighbors outer{getPrevious(replaced.front()), getNext(replaced.back())};
  for (Operation *fragment : replaced)
    neighbors.erase(fragment);
  neighbors[merged] = outer;
  if (auto it = neighbors.find(outer.previous); it != neighbors.end())
    it->second.next = merged;
  if (auto it = neighbors.find(outer.next); it != neighbors.end())
    it->second.previous = merged;
}
