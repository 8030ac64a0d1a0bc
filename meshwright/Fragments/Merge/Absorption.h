//===- Absorption.h - Many fragments absorbed at once -----------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_FRAGMENTS_MERGE_ABSORPTION_H
#define MESHWRIGHT_FRAGMENTS_MERGE_ABSORPTION_H

#include "meshwright/Fragments/Merge/FragmentGroup.h"
#include "meshwright/Order/BlockOrder.h"
#include "meshwright/Order/EffectOrder.h"

namespace mlir::mpmd {

/// The inferred fragments that `root` could absorb: those that it reads, in the
/// order of its operands, and those that read one of `values`, in the order of
/// uses.
SmallVector<FragmentOp> getInferredProducers(FragmentOp root);
SmallVector<FragmentOp> getInferredConsumers(FragmentOp root,
                                             ValueRange values);

/// The fragments that a root absorbs if all around it is simple, in one go.
class Absorption {
public:
  Absorption(FragmentOp root, BlockOrder &order, const EffectOrder &effects);

  /// Whether nothing has to move, and nothing can fail, to absorb a fragment.
  bool isSimpleToAbsorb(FragmentOp fragment) const;

  /// Whether the root is certain to be one still with `producer` absorbed: it
  /// is a user fragment, or no fragment reads what is merged.
  bool staysRoot(FragmentOp producer);

  /// Absorbs `producer`, then further producers for as long as they are simple
  /// and `isFresh`, and the root stays one.
  void absorbProducers(FragmentOp producer,
                       function_ref<bool(FragmentOp)> isFresh);

  /// Absorbs consumers of a root that stays one, if all of them are simple and
  /// no other fragment has to do with them that could absorb or be absorbed.
  /// Says whether there was any.
  bool absorbConsumers();

  FragmentGroup &getGroup() { return group; }

  /// Those that were absorbed, one after the other.
  ArrayRef<FragmentOp> getAbsorbed() const { return absorbed; }

private:
  bool isReadByOthers(FragmentOp fragment);
  void prepend(FragmentOp producer);
  bool isFirstUser(FragmentOp producer);
  bool isLastProducer(FragmentOp consumer);
  bool hasNoOtherPartner(FragmentOp consumer);

  FragmentOp root;
  BlockOrder &order;
  const EffectOrder &effects;
  FragmentGroup group;
  SmallVector<FragmentOp> absorbed;
  bool rootIsRead;
};

} // namespace mlir::mpmd

#endif
