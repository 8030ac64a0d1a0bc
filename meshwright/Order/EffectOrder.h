//===- EffectOrder.h - The order in which a block acts ----------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_ORDER_EFFECTORDER_H
#define MESHWRIGHT_ORDER_EFFECTORDER_H

#include "meshwright/Dialect/Mpmd/MpmdDialect.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/STLFunctionalExtras.h"

namespace mlir::mpmd {

/// Reports each pair of ops of a block of which the second must stay after the
/// first, because both have effects and may run on one mesh. Only neighbours:
/// the others follow. Fragments run on their meshes, all else that has effects,
/// such as a call, on any.
void forEachEffectPair(Block &block,
                       llvm::function_ref<void(Operation *, Operation *)> add);

/// The fragments of a block that have effects, each with its neighbours of its
/// mesh, while fragments merge. The order is never changed: only neighbours may
/// become one.
class EffectOrder {
public:
  explicit EffectOrder(Block &block);

  /// Whether a fragment has effects.
  bool contains(Operation *fragment) const {
    return neighbors.contains(fragment);
  }
  /// What has effects directly before and after a fragment that is contained.
  /// Null if nothing does.
  Operation *getPrevious(Operation *fragment) const {
    return neighbors.at(fragment).previous;
  }
  Operation *getNext(Operation *fragment) const {
    return neighbors.at(fragment).next;
  }

  /// Whether a fragment may move to another one, after or before it, to become
  /// one with that. `isBefore` says which of two ops is first.
  using IsBefore = llvm::function_ref<bool(Operation *, Operation *)>;
  bool mayMoveDown(Operation *fragment, Operation *to, IsBefore isBefore) const;
  bool mayMoveUp(Operation *fragment, Operation *to, IsBefore isBefore) const;
  /// Whether the fragments, in this order, may become one: no other effect
  /// comes between theirs.
  bool areAdjacent(ArrayRef<Operation *> fragments) const;

  /// Reports each fragment and what must stay directly after or before it. Some
  /// pairs are reported twice, in no certain order.
  void
  forEachPair(llvm::function_ref<void(Operation *, Operation *)> add) const;

  /// Lets `merged` represent fragments, in this order, of which those with
  /// effects are adjacent. The fragments may be gone.
  void replace(ArrayRef<Operation *> fragments, Operation *merged);

private:
  struct Neighbors {
    Operation *previous = nullptr;
    Operation *next = nullptr;
  };

  /// Of fragments only: those of another op depend on the mesh.
  llvm::DenseMap<Operation *, Neighbors> neighbors;
};

} // namespace mlir::mpmd

#endif
