//===- Functions.h - Kinds of functions and their meshes --------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_DIALECT_MPMD_FUNCTIONS_H
#define MESHWRIGHT_DIALECT_MPMD_FUNCTIONS_H

#include "meshwright/Dialect/Mpmd/MpmdDialect.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/BuiltinOps.h"
#include "llvm/ADT/DenseMap.h"

namespace mlir::mpmd {

/// Makes a function an MPMD function: all meshes it runs on.
inline constexpr StringLiteral kTopologyAttr = "topology";
/// Makes a function an SPMD function: the mesh its body runs on.
inline constexpr StringLiteral kMeshShapeAttr = "mesh_shape";
/// The name of a function result, for messages.
inline constexpr StringLiteral kResultInfoAttr = "jax.result_info";

bool isMpmdFunction(func::FuncOp func);
bool isSpmdFunction(func::FuncOp func);
/// MPMD or SPMD.
bool isDistributedFunction(func::FuncOp func);
/// Distributed and public.
bool isEntryPointFunction(func::FuncOp func);
/// MPMD, public and with a body of one block: a program that passes go through.
bool isMpmdProgram(func::FuncOp func);

/// The return of a function with one block, null for any other function.
func::ReturnOp getReturnOp(func::FuncOp func);

/// The topology of a function, or that of the first MPMD function of a module;
/// null if there is none.
TopologyAttr getTopology(func::FuncOp func);
TopologyAttr getTopology(ModuleOp module);
void setTopology(func::FuncOp func, TopologyAttr topology);

/// Checks that a callee would also verify with the topology of the function that
/// calls it, or without one, where it has another: what is in it may name meshes that
/// only its own has. Emits errors there and on the call.
LogicalResult verifyWithTopologyOfCaller(CallOp call, func::FuncOp callee);

/// Whether all meshes have the axes, those of size 1 aside, and the device ids
/// of the first.
bool isHomogeneous(TopologyAttr topology);

/// The first mesh of that name, null if there is none.
sdy::MeshAttr getMeshByName(TopologyAttr topology, StringRef name);

/// The mesh of that name in the topology of the function `op` is in, or is.
/// Emits an error on `op` if there is no topology or no such mesh.
FailureOr<sdy::MeshAttr> getMeshOrError(Operation *op, StringRef name);

/// The mesh `op` runs on: that of the fragment it is or is in, else that of the
/// SPMD function it is in. Emits an error on `op` if there is neither.
FailureOr<sdy::MeshAttr> getMeshOrError(Operation *op);

/// Makes the signature that of the block arguments and returned values.
void updateFunctionType(func::FuncOp func);

/// The location of a function result: its name if it has one.
Location getResultInfoLoc(func::FuncOp func, unsigned result,
                          Location fallback);

/// Which function is called where by `mpmd.call`. Built once per module, in its
/// order; knows the calls in MPMD functions and the loops in them of which a
/// result is used, or that have effects.
class CallGraph {
public:
  explicit CallGraph(ModuleOp module);

  ArrayRef<CallOp> getCalls(func::FuncOp callee) const;

private:
  DenseMap<Operation *, SmallVector<CallOp>> calls;
};

/// The references to a function of a module.
struct FunctionReferences {
  /// In program order, dead calls and calls in any region included.
  SmallVector<CallOp> calls;
  /// Something that is no mpmd.call and would break if the signature changed.
  bool hasOther = false;
};

/// The references to the functions of a module that are referred to. Names in
/// modules within it are looked up there. Nothing where ops of unknown dialects
/// may refer to any function.
DenseMap<StringAttr, FunctionReferences>
collectFunctionReferences(ModuleOp module);

} // namespace mlir::mpmd

#endif
