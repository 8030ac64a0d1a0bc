//===- MeshRewriting.h - Put ops and calls where they are used --*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// What mpmd-infer-mesh-rewrite-using-analysis is made of.
// MeshRewritingLoops.cpp has the loops, the file of the pass everything else.
//
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_IMPORT_INFERMESH_MESHREWRITING_H
#define MESHWRIGHT_IMPORT_INFERMESH_MESHREWRITING_H

#include "meshwright/Dialect/Mpmd/Effects.h"
#include "meshwright/Import/InferMesh/InferMeshDiagnostics.h"
#include "meshwright/Import/MeshSets/MeshDataFlow.h"
#include "mlir/IR/PatternMatch.h"
#include "llvm/ADT/MapVector.h"

namespace mlir::mpmd {

inline MeshTensorType getTypeOnMesh(Value tensor, StringRef mesh) {
  return MeshTensorType::getFullyReplicated(
      tensor.getContext(), mesh, cast<RankedTensorType>(tensor.getType()));
}

/// The assigns of a value, by mesh, in use order.
using AssignsByMesh = llvm::MapVector<StringRef, SmallVector<AssignOp>>;

/// Rewrites callees, then the bodies of entry points, each from its end. Calls
/// take over the copies that their callee, rewritten before, has got.
class MeshRewriting {
public:
  MeshRewriting(ModuleOp module, int maxClones)
      : flow(module), maxClones(maxClones), rewriter(module.getContext()) {}

  LogicalResult rewriteCallee(func::FuncOp func);
  LogicalResult rewriteBlock(Block &block, StringRef firstMesh);

  struct Counts {
    /// Put into fragments; calls and loops; arguments and results added.
    unsigned ops = 0, calls = 0, copies = 0;
  };
  const Counts &getCounts() const { return counts; }
  /// Whether something was reported in passing.
  bool isWrong() const { return hasFailed; }

private:
  void rewriteResults(func::FuncOp func);
  LogicalResult rewriteArguments(func::FuncOp func);
  LogicalResult rewriteCall(CallOp call);
  LogicalResult connectResult(CallOp call, CallOp newCall, unsigned index,
                              func::FuncOp callee);
  LogicalResult rewriteLoop(ForOp loop, StringRef firstMesh);
  LogicalResult assignYielded(ForOp loop, StringRef firstMesh);
  LogicalResult rewriteLoopArgument(ForOp loop, BlockArgument arg);
  LogicalResult connectLoop(ForOp loop);

  FailureOr<AssignsByMesh> groupAssigns(BlockArgument arg);
  Value createUnassign(Location loc, Value value) {
    return UnassignOp::create(rewriter, loc, value, /*origin=*/StringAttr());
  }
  Value createAssign(Location loc, Value value, Type type) {
    hasFailed |= failed(
        verifyMeshOfSet(value, cast<MeshTensorType>(type).getMeshName()));
    return AssignOp::create(rewriter, loc, type, value,
                            /*origin=*/StringAttr());
  }

  MeshDataFlow flow;
  CalleeEffects effects;
  int maxClones;
  IRRewriter rewriter;
  Counts counts;
  bool hasFailed = false;
};

} // namespace mlir::mpmd

#endif
