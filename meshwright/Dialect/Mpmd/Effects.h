//===- Effects.h - What may be repeated, dropped and reordered --*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// A program draws random numbers and acts on the world as often as its author
// wrote, and in that order. Every pass that repeats, drops or moves ops asks
// here whether it may:
//
//                          repeat     drop if unused        move past another
//   without effects        yes        as upstream says      yes
//   with effects           no         no                    not on one mesh
//
// "As upstream says" means `isOpTriviallyDead` and, where a pass erases without
// the driver's help, `isPure`. Ops with effects on different meshes have no
// order but that of the data flow between them. Nor have callbacks of JAX that
// it lowered without a token, such as those of `jax.debug.print`.
//
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_DIALECT_MPMD_EFFECTS_H
#define MESHWRIGHT_DIALECT_MPMD_EFFECTS_H

#include "meshwright/Dialect/Mpmd/MpmdDialect.h"
#include "mlir/IR/SymbolTable.h"
#include "llvm/ADT/DenseMap.h"

namespace mlir::mpmd {

/// Whether `op`, or an op in its regions, does more than to compute its
/// results: draws of random numbers, calls with side effects, exchanges with
/// the host, and ops of which nothing is known.
///
/// Not effects: collectives, although upstream must not drop them, tokens, and
/// annotations of placement and sharding, also those that JAX marks as side
/// effects.
///
/// Called functions are not looked into, as they may be changing in another
/// thread: a call has effects. CalleeEffects knows better.
bool hasEffects(Operation *op);

/// The first op of `op` and those in its regions that has effects; null if none
/// has.
Operation *findEffect(Operation *op);

/// Whether `op`, or an op in its regions, has effects that must stay in the order
/// of the program, which JAX does not promise for callbacks without a token.
bool hasOrderedEffects(Operation *op);

/// Looks into called functions. For passes on modules, while these pass no
/// function to another thread; bodies must not gain or lose effects meanwhile.
class CalleeEffects {
public:
  /// As mpmd::hasEffects, but a call has the effects of its callee.
  bool hasEffects(Operation *op) { return findEffect(op); }
  /// Finds an op of the caller, not of the callee.
  Operation *findEffect(Operation *op);

private:
  bool hasEffectsOfCallee(Operation *op);

  SymbolTableCollection symbols;
  /// By function. What calls itself, directly or not, has effects.
  llvm::DenseMap<Operation *, bool> known;
};

} // namespace mlir::mpmd

#endif
