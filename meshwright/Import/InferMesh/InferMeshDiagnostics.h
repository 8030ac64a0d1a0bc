//===- InferMeshDiagnostics.h - Why a mesh cannot be found ------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// The readers of these messages wrote a model, not IR. So each of them says what
// is in conflict, follows the values to the inputs, outputs and named
// computations that fix their meshes, and names the option that would help.
//
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_IMPORT_INFERMESH_INFERMESHDIAGNOSTICS_H
#define MESHWRIGHT_IMPORT_INFERMESH_INFERMESHDIAGNOSTICS_H

#include "meshwright/Import/MeshSets/MeshDataFlow.h"

namespace mlir::mpmd {

/// Ends what is said of programs that earlier passes would not have handed on.
inline constexpr llvm::StringLiteral kRunFromStart =
    "; run mesh inference from its first pass";

/// Counts reported errors against the limit of a pass.
class ErrorLimit {
public:
  explicit ErrorLimit(int limit) : limit(limit) {}

  void count() { ++numErrors; }
  int getCount() const { return numErrors; }
  /// -1 means no limit.
  bool isReached() const { return limit >= 0 && numErrors >= limit; }

private:
  int limit;
  int numErrors = 0;
};

/// Reports a limit that no count can reach.
LogicalResult verifyErrorLimit(Operation *op, int limit);

/// Values of MPMD functions come to lie on meshes. Reports what names such a
/// function and, other than a call that represents its body and has its meshes,
/// does not go along.
LogicalResult verifyNamedByCalls(ModuleOp module);

/// Sets may have been written by hand: reports a mesh for a value that is not in the
/// topology of its function.
LogicalResult verifyMeshOfSet(Value value, StringRef mesh);

class InferMeshDiagnostics {
public:
  InferMeshDiagnostics(const MeshDataFlow &flow, const CallGraph &calls)
      : flow(flow), calls(calls) {}

  /// The op, or the argument, is available on no mesh.
  void reportConflict(Operation *op) const;
  void reportConflict(func::FuncOp func, BlockArgument arg) const;

  /// The op, or the argument, is needed where it is unavailable.
  void reportNeededTransfer(Operation *op) const;
  void reportNeededTransfer(func::FuncOp func, BlockArgument arg) const;

  /// The op is needed on several meshes, but `effect`, which it is or contains,
  /// must happen once.
  void reportRepeatedEffect(Operation *op, Operation *effect) const;

  /// A result of one call of `callee` is an argument of another one, and the
  /// two are needed on different meshes.
  void reportChainMismatch(func::FuncOp callee, unsigned result,
                           BlockArgument arg) const;

private:
  std::string describeSources(Value value) const;
  std::string describeUses(ValueRange values, StringRef word) const;
  std::string describeArgument(func::FuncOp func, BlockArgument arg) const;

  const MeshDataFlow &flow;
  const CallGraph &calls;
};

} // namespace mlir::mpmd

#endif
