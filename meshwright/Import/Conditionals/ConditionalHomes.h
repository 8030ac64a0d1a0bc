//===- ConditionalHomes.h - Meshes of a conditional's results ---*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// Mesh inference does not look into regions, so a conditional is one op to it,
// with one place. Here each result gets a place of its own: the one that it
// would have if all branches were inlined and it were chosen from what they
// compute. That program is made, on a copy, and the analyses are run on it.
//
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_IMPORT_CONDITIONALS_CONDITIONALHOMES_H
#define MESHWRIGHT_IMPORT_CONDITIONALS_CONDITIONALHOMES_H

#include "meshwright/Import/Conditionals/InLine.h"
#include "meshwright/Import/MeshSets/StateClasses.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/OwningOpRef.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/SmallVector.h"

namespace mlir::mpmd {

/// Meshes in string order; none for a value that may be anywhere.
using MeshNames = SmallVector<StringRef, 2>;

/// Valid as long as the conditionals and the ops in their branches exist; they
/// may move.
class ConditionalHomes {
public:
  /// `conditionals` of MPMD functions, nested ones before those around them. With
  /// `sendsLittle`, what little is sent for is where the state is that it meets.
  ConditionalHomes(ModuleOp module, ArrayRef<Operation *> conditionals,
                   bool sendsLittle);

  /// Where a result is to be computed. It is several meshes where it is needed
  /// on all of them and is available there.
  MeshNames getHome(OpResult result) const;

  /// A mesh on which an op in a branch finds its operands; empty if it is not
  /// known.
  StringRef getSource(Operation *op) const;

  /// Whether an op in a branch sums up what lives on several meshes.
  bool isAcrossMeshes(Operation *op) const;

  /// Whether values that an op in a branch reads are on no mesh in common, and the
  /// smaller ones are to be sent.
  bool readsSeveralMeshes(Operation *op) const;

private:
  Operation *findInLine(Operation *op) const;
  MeshNames findState(Operation *op) const;
  StringRef findMesh(Operation *op) const;

  bool sendsLittle;
  IRMapping mapping; // To the copy.
  OwningOpRef<ModuleOp> copy;
  MeshDataFlow flow; // In the copy.
  /// Of the functions of the copy.
  DenseMap<Operation *, std::unique_ptr<ValueMeshes>> meshes;
  DenseMap<Operation *, std::unique_ptr<StateClasses>> classes;
  /// In the copy, the ops that represent the results of a conditional.
  DenseMap<Operation *, SmallVector<Operation *>> chosen;
};

} // namespace mlir::mpmd

#endif
