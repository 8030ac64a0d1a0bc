//===- ShardingWalk.h - Change all shardings of a module --------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_DIALECT_SDY_TRANSFORMS_SHARDINGWALK_H
#define MESHWRIGHT_DIALECT_SDY_TRANSFORMS_SHARDINGWALK_H

#include "meshwright/Dialect/Sdy/SdyDialect.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace mlir::sdy {

/// Calls `visit` for the ops in `root` and itself, outer ones first, but not for a
/// module within it and what that holds: it knows other meshes and functions.
template <typename VisitFn>
WalkResult walkOwnOps(Operation *root, VisitFn visit) {
  return root->walk<WalkOrder::PreOrder>([&](Operation *op) -> WalkResult {
    if (isa<ModuleOp>(op) && op != root)
      return WalkResult::skip();
    return visit(op);
  });
}

using ShardingFn = llvm::function_ref<TensorShardingAttr(TensorShardingAttr)>;

/// Replaces every sharding below an op, in program order: those of function
/// arguments and results, `sdy.sharding` of ops, and those that data-flow ops
/// and sdy ops hold themselves. Not those in a module within it, which knows other
/// meshes.
void transformShardings(Operation *root, ShardingFn transform);

/// Replaces the shardings that one op other than a function holds itself. Null
/// entries of lists are passed on.
void transformShardingsOf(Operation *op, ShardingFn transform);

/// Replaces the shardings of the arguments, then of the results of a function.
void transformSignature(func::FuncOp func, ShardingFn transform);

} // namespace mlir::sdy

#endif
