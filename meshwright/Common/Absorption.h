//===- Absorption.h - Many fragments absorbed at once -----------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_COMMON_ABSORPTION_H
#define MESHWRIGHT_COMMON_ABSORPTION_H

#include "meshwright/Common/FragmentGroup.h"

namespace mlir::mpmd {

/// The inferred fragments that `root` could absorb: those that it reads, in the
/// order of its operands, and those that read one of `values`, in the order of
/// uses.
SmallVector<FragmentOp> getInferredProducers(FragmentOp root);
SmallVector<FragmentOp> getInferredConsumers(FragmentOp root,
                                             ValueRange values);

/// Whether nothing has to move, and nothing can fail, to absorb a fragment.
bool isSimpleToAbsorb(FragmentOp fragment);

/// Who a user fragment absorbs if all that is around it is simple.
class Absorption {
public:
  explicit Absorption(FragmentOp root) : root(root), group(root) {}

  /// Absorbs `producer`, then further producers for as long as they are simple
  /// and `isFresh`.
  void absorbProducers(FragmentOp producer,
                       function_ref<bool(FragmentOp)> isFresh);

  /// Absorbs consumers, if all of them are simple and no other fragment has to
  /// do with them that could absorb or be absorbed. Says whether there was any.
  bool absorbConsumers();

  FragmentGroup &getGroup() { return group; }

private:
  void prepend(FragmentOp producer);
  bool isFirstUser(FragmentOp producer);
  bool isLastProducer(FragmentOp consumer);
  bool hasNoOtherPartner(FragmentOp consumer);
  FragmentOp root;
  FragmentGroup group;
};

} // namespace mlir::mpmd

#endif
