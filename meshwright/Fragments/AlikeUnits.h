//===- AlikeUnits.h - What computes the same per microbatch -----*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_FRAGMENTS_ALIKEUNITS_H
#define MESHWRIGHT_FRAGMENTS_ALIKEUNITS_H

#include "meshwright/Dialect/Mpmd/MpmdDialect.h"
#include "mlir/IR/Block.h"
#include "llvm/ADT/MapVector.h"

namespace mlir::mpmd {

/// What the origins of computations begin with that are substitutes for those of other
/// microbatches, in a program of a few of them.
inline constexpr StringLiteral kSubstitutePrefix =
    "meshwright.other_microbatches.";

bool isSubstitute(FragmentOp fragment);

/// The scheduling units of a block by what they compute: those of one mesh that
/// have the same origin and are the same half, if split, differ in their
/// microbatch, and can be one program.
class AlikeUnits {
public:
  explicit AlikeUnits(Block &block);

  /// Whether a fragment is one of several units that are alike, or is a substitute for some.
  bool hasOthers(FragmentOp fragment) const;

  /// Whether two scheduling units are of one kind.
  static bool areAlike(FragmentOp unit, FragmentOp other) {
    return getKind(unit) == getKind(other);
  }

  /// The units that are alike, in the order of the block, by kind.
  SmallVector<ArrayRef<FragmentOp>> getKinds() const;

private:
  /// Mesh, origin, and the marks of the halves of a split fragment.
  using Kind = std::pair<std::pair<Attribute, Attribute>,
                         std::pair<Attribute, Attribute>>;
  static Kind getKind(FragmentOp fragment);

  llvm::MapVector<Kind, SmallVector<FragmentOp>> units;
};

} // namespace mlir::mpmd

#endif
