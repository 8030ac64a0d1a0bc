//===- SdyDialect.h - The sdy dialect ---------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_DIALECT_SDY_DIALECT_H
#define MESHWRIGHT_DIALECT_SDY_DIALECT_H

#include "mlir/Bytecode/BytecodeOpInterface.h"
#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/Dialect.h"
#include "mlir/IR/OpDefinition.h"
#include "mlir/IR/OpImplementation.h"
#include "mlir/IR/SymbolTable.h"
#include "mlir/Interfaces/InferTypeOpInterface.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

namespace mlir {
class PatternRewriter;
} // namespace mlir

#include "meshwright/Dialect/Sdy/SdyDialect.h.inc"
#include "meshwright/Dialect/Sdy/SdyEnums.h.inc"

#define GET_ATTRDEF_CLASSES
#include "meshwright/Dialect/Sdy/SdyAttrs.h.inc"

namespace mlir::sdy {

/// Discardable attribute that holds shardings: one sharding on function
/// arguments and results, one per result on ops.
inline constexpr llvm::StringLiteral kShardingAttr = "sdy.sharding";
/// Discardable attribute that holds the sharding rule of an op.
inline constexpr llvm::StringLiteral kShardingRuleAttr = "sdy.sharding_rule";

/// Whether both split a value alike; null is fully open. Not symmetric: null is
/// equivalent to a sharding with nothing but unreduced axes, not the reverse.
bool areEquivalent(TensorShardingAttr a, TensorShardingAttr b);

/// The shardings in `sdy.sharding` of an op, none if it has no such attribute.
SmallVector<TensorShardingAttr> getResultShardings(Operation *op);
/// Sets `sdy.sharding` of an op; results with a null sharding become fully
/// open. Does nothing if all are null.
void setResultShardings(Operation *op, ArrayRef<TensorShardingAttr> shardings);

} // namespace mlir::sdy

#include "meshwright/Dialect/Sdy/DataFlowOpInterface.h.inc"
#include "meshwright/Dialect/Sdy/ShardingRuleOpInterface.h.inc"

#define GET_OP_CLASSES
#include "meshwright/Dialect/Sdy/SdyOps.h.inc"

#endif
