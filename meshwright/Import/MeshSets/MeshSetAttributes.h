//===- MeshSetAttributes.h - Where the IR keeps mesh sets -------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// Mesh inference keeps its state in the IR, so that its passes can be run and
// tested one by one:
//
//   op                    discardable attribute of the op
//   function argument     argument attribute
//   function result       result attribute (use sets of callees only)
//   argument of a loop    dictionary in the loop's `arg_attrs`
//
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_IMPORT_MESHSETS_MESHSETATTRIBUTES_H
#define MESHWRIGHT_IMPORT_MESHSETS_MESHSETATTRIBUTES_H

#include "meshwright/Import/MeshSets/MeshSet.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace mlir::mpmd {

/// The meshes where a value is needed.
inline constexpr llvm::StringLiteral kUseSetAttr = "mpmd.use_set";
/// The meshes where a value is available without a new transfer.
inline constexpr llvm::StringLiteral kSrcSetAttr = "mpmd.src_set";
/// The kind of reduction that an op is if it is done across meshes.
inline constexpr llvm::StringLiteral kReduceAttr = "mpmd.reduce";
/// On arguments and results: the positions of their copies on other meshes.
inline constexpr llvm::StringLiteral kCopiesAttr = "mpmd.copies";

/// Whether a value is on meshes at all; others, such as tokens, have no sets.
inline bool isTensor(Value value) {
  return isa<RankedTensorType>(value.getType());
}

/// Whether inference has to find a mesh for `op`: it computes, is not in the mpmd
/// dialect, and its values are on none, unlike those of edges between fragments.
/// Asked only of ops outside fragments.
bool isMeshlessOp(Operation *op);

/// Whether `op` cuts both analyses: a broadcast or a reduce.
bool isBarrierOp(Operation *op);

/// The name of the smallest mesh of a topology, in string order.
StringRef getFirstMesh(TopologyAttr topology);

/// The MPMD functions of a module that have a body, entry points or callees.
SmallVector<func::FuncOp> getEntryPoints(ModuleOp module);
SmallVector<func::FuncOp> getCallees(ModuleOp module);
SmallVector<func::FuncOp> getMpmdFunctions(ModuleOp module);

MeshSet getMeshSet(Operation *op, StringRef name);
/// Removes the attribute if the set is unspecified. Returns whether that changes
/// anything.
bool setMeshSet(Operation *op, StringRef name, MeshSet set);

/// The set of an argument of a function or of a loop, unspecified for any other
/// block argument.
MeshSet getArgMeshSet(BlockArgument arg, StringRef name);
/// Replaces the sets of all arguments of a function or of a loop at once.
/// Dictionaries that say something else keep it. Returns how many change.
unsigned setArgMeshSets(Operation *funcOrLoop, StringRef name,
                        ArrayRef<MeshSet> sets);

MeshSet getResultUseSet(func::FuncOp func, unsigned result);
/// Returns how many change.
unsigned setResultUseSets(func::FuncOp func, ArrayRef<MeshSet> sets);

} // namespace mlir::mpmd

#endif
