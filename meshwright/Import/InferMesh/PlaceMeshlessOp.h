//===- PlaceMeshlessOp.h - Move an op where it is used ----------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_IMPORT_INFERMESH_PLACEMESHLESSOP_H
#define MESHWRIGHT_IMPORT_INFERMESH_PLACEMESHLESSOP_H

#include "meshwright/Dialect/Mpmd/Effects.h"
#include "meshwright/Dialect/Mpmd/MpmdDialect.h"
#include "mlir/IR/PatternMatch.h"

namespace mlir::mpmd {

/// Where the effects of a block are on each mesh, while its ops are placed from
/// the last to the first.
class PlacedEffects {
public:
  explicit PlacedEffects(CalleeEffects &effects) : effects(effects) {}

  /// To be called with each op of the block, before it is placed.
  void visit(Operation *op);
  bool hasEffects(Operation *op) { return effects.hasEffects(op); }

  /// Whether the op visited last may move into a fragment after it without
  /// passing an effect of its mesh.
  bool mayMoveInto(FragmentOp fragment) const;
  /// Tells of a fragment that was made for the op visited last.
  void addFragment(FragmentOp fragment) { numbers[fragment] = current; }
  /// Tells that a fragment, visited or added, now has effects.
  void addEffect(FragmentOp fragment);

private:
  CalleeEffects &effects;
  /// Ops are numbered as they are visited: an op with a higher number is
  /// before one with a lower number.
  unsigned current = 0;
  llvm::DenseMap<Operation *, unsigned> numbers;
  /// The first effect so far on each mesh, and the first of an op that may run
  /// on any, such as a call.
  llvm::DenseMap<StringAttr, unsigned> firstOnMesh;
  unsigned firstOnAny = 0;
};

/// Puts `op`, whose results are read by assigns only, into fragments, and
/// erases it together with these assigns:
///
///   one fragment, nothing else     the op moves into it
///   a few fragments                each of them gets a clone
///   anything else                  a new fragment per mesh, which all read
///
/// An op that is cheap to repeat is cloned however many fragments there are,
/// others into `maxClones` at most. One with effects is never repeated: it runs
/// in one fragment, from which assigns to other meshes have to transfer it, and
/// does not move past other effects. Reports an op with other users, or none.
///
/// `op` is what `effects` visited last.
LogicalResult placeMeshlessOp(Operation *op, int maxClones,
                              PlacedEffects &effects, RewriterBase &rewriter);

} // namespace mlir::mpmd

#endif
