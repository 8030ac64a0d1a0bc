//===- StateClasses.h - State that belongs together -------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// Problem. An argument that no fragment reads, such as a moment of an optimizer,
// can be anywhere. It belongs on the mesh of what it meets element by element,
// also where it is only returned as it is:
//
//   %s = subtract %w, %w0       %w on m1, so %w0 and %s are of its class: m1
//   return %s, %w0
//
// Equivalence classes (union-find) of the values that can be anywhere, or on
// several meshes: operands and results of an operation that have the shape
// of its result. Each operation where a class meets a value of known meshes
// votes for these, as do fragments that read a value of the class, and
// reductions of what is on one mesh. A scalar that is broadcast does not
// vote. A class belongs on the first mesh that all votes have in common,
// without votes on that of whatever reads it. Where there is none, as for
// what several stages read, it is left to mesh inference.
//
// Cost: linear in operands, up to the inverse of Ackermann's function.
//
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_IMPORT_MESHSETS_STATECLASSES_H
#define MESHWRIGHT_IMPORT_MESHSETS_STATECLASSES_H

#include "meshwright/Import/MeshSets/ValueMeshes.h"
#include "llvm/ADT/EquivalenceClasses.h"

namespace mlir::mpmd {

class StateClasses {
public:
  StateClasses(func::FuncOp func, const ValueMeshes &meshes);

  /// The mesh that the class of `value` belongs on, if votes agree.
  std::optional<unsigned> getMesh(Value value) const;

private:
  /// Of the leader of a class; during construction, of any member.
  using Votes = DenseMap<const void *, MeshBits>;

  bool isMember(Value value) const;
  bool isOpen(Value value) const;
  void visitOp(Operation *op);
  void vote(Value value, const MeshBits &bits, Votes &votes);
  void joinVotes(Votes &votes) const;
  const MeshBits *findVotes(const void *leader) const;
  void handOn(Operation *op);

  const ValueMeshes &meshes;
  llvm::EquivalenceClasses<const void *> classes;
  Votes votes;
  /// Of operations that read a class otherwise than element by element; they
  /// count where there are no other votes.
  Votes votesOfReaders;
  /// Meshes of the numbers that members are computed with, which count where nothing
  /// else does: all of the class is on one of them.
  Votes votesOfNumbers;
  DenseMap<Value, MeshBits> ofNumbers;
  /// What is made of constants and scalars alone. Membership only.
  DenseSet<Value> common;
};

} // namespace mlir::mpmd

#endif
