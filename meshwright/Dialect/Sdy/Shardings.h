//===- Shardings.h - Where the sharding of a value is kept ------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_DIALECT_SDY_SHARDINGS_H
#define MESHWRIGHT_DIALECT_SDY_SHARDINGS_H

#include "meshwright/Dialect/Sdy/SdyDialect.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace mlir::sdy {

/// How propagation reached an op: a `#sdy.propagation_edges`.
inline constexpr StringLiteral kPropagationEdgesAttr = "sdy.propagation_edges";
/// The same of the values that a data-flow op owns: lists of them.
inline constexpr StringLiteral kResultPropagationEdgesAttr =
    "sdy.result_propagation_edges";
inline constexpr StringLiteral kBlockArgPropagationEdgesAttr =
    "sdy.block_arg_propagation_edges";

/// The sharding of a value: on the function for its arguments, in the op for
/// sdy ops, with the edge for targets of data flow, else in `sdy.sharding`.
/// Null if it has none or cannot have one.
TensorShardingAttr getSharding(Value value);
/// Sets the sharding of a value where getSharding finds it. The other results
/// of an op without shardings become fully open. Does nothing for a null
/// sharding or a value that cannot have one.
void setSharding(Value value, TensorShardingAttr sharding);
/// Gives what has no sharding an open one on the mesh that others are on, so that
/// there is one for each type. False if no list of shardings can be: there is none at
/// all, or a value without one is no ranked tensor.
bool fillShardings(MutableArrayRef<TensorShardingAttr> shardings,
                   TypeRange types, Operation *from);
/// Whether a value can have a sharding.
bool canHaveSharding(Value value);
/// Whether an op moves a value from one sharding to another by known axes.
bool isCollective(Operation *op);

TensorShardingAttr getArgSharding(func::FuncOp func, unsigned index);
void setArgSharding(func::FuncOp func, unsigned index,
                    TensorShardingAttr sharding);
TensorShardingAttr getResultSharding(func::FuncOp func, unsigned index);
void setResultSharding(func::FuncOp func, unsigned index,
                       TensorShardingAttr sharding);

/// The data-flow op that has a value among the targets of its edges, and the
/// owner of that edge. Null if there is none.
DataFlowOpInterface getDataFlowOp(Value target);
Value getEdgeOwner(Value target);

/// The stored sharding of an owner, whether or not an edge op has another.
TensorShardingAttr getEdgeOwnerSharding(DataFlowOpInterface op, Value owner);

} // namespace mlir::sdy

#endif
