//===- ConditionalPlan.h - The parts of a conditional -----------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// Decides which results of a conditional are computed together, and what they
// share. Changes nothing.
//
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_IMPORT_CONDITIONALS_CONDITIONALPLAN_H
#define MESHWRIGHT_IMPORT_CONDITIONALS_CONDITIONALPLAN_H

#include "meshwright/Import/Conditionals/ConditionalHomes.h"
#include "mlir/IR/Operation.h"
#include "llvm/ADT/DenseSet.h"
#include "llvm/ADT/IntEqClasses.h"
#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/ADT/SmallBitVector.h"

namespace mlir::mpmd {

/// Results that are computed at one place.
struct ConditionalGroup {
  MeshNames home;
  SmallVector<unsigned> results;
  uint64_t numElements = 0;
};

class ConditionalPlan {
public:
  ConditionalPlan(Operation *conditional, const ConditionalHomes &homes);

  /// One group per part, in the order of their first results.
  ArrayRef<ConditionalGroup> getGroups() const { return groups; }

  /// What is computed before the conditional, whatever the predicate says.
  bool isHoisted(Operation *op) const { return hoisted.contains(op); }
  bool hoistsAnything() const { return !hoisted.empty(); }

  /// What several parts read, but is too costly for that: it gets a part of its
  /// own.
  bool isCommon(Operation *op) const { return common.contains(op); }
  /// What several parts, and the common one, compute each for itself.
  bool isRepeated(Operation *op) const { return repeated.contains(op); }
  /// Of the common ops of a branch, the values that others read.
  SmallVector<Value> getCommonValues(Block &branch) const;
  /// The mesh of the common part.
  StringRef getCommonHome() const { return commonHome; }

  /// Whether an op in a branch goes to the part of a group.
  bool isIn(Operation *op, unsigned group) const;

private:
  void groupResults(const ConditionalHomes &homes);
  void followBranch(Block &branch);
  void joinGroups();
  void divideShared(Block &branch, const ConditionalHomes &homes);
  void mergeJoined();
  unsigned countGroups(Operation *op) const;

  Operation *conditional;
  SmallVector<ConditionalGroup> groups;
  SmallVector<unsigned> groupOfResult;
  /// The groups that need an op in a branch.
  DenseMap<Operation *, llvm::SmallBitVector> readers;
  llvm::IntEqClasses joined;
  DenseSet<Operation *> hoisted, common, repeated; // Membership only.
  StringRef commonHome;
};

/// Whether each user of the op may have a copy of its own.
bool isFreeToRepeat(Operation *op);

/// Calls `visit` with the ops of `block` that give `op` or its regions a value.
void forEachProducer(Operation *op, Block &block,
                     llvm::function_ref<void(Operation *)> visit);

} // namespace mlir::mpmd

#endif
