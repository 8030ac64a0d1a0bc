//===- ShardingVerification.h - Whether a sharding fits a value -*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_DIALECT_SDY_SHARDINGVERIFICATION_H
#define MESHWRIGHT_DIALECT_SDY_SHARDINGVERIFICATION_H

#include "meshwright/Dialect/Sdy/SdyDialect.h"

namespace mlir::sdy {

/// Starts the diagnostic of a failed check, with whatever says which value it
/// is about.
using EmitErrorFn = llvm::function_ref<InFlightDiagnostic()>;

/// Checks a sharding on a mesh that is already known, whatever the sharding
/// itself names. A null type represents an op without results.
LogicalResult verifySharding(Type type, TensorShardingAttr sharding,
                             MeshAttr mesh, EmitErrorFn emitError,
                             bool checkDivisibility = false);

/// Checks a sharding on the mesh it names, as seen from `from`, and that it
/// keeps clear of axes that an enclosing sdy.manual_computation makes manual.
LogicalResult verifySharding(Type type, TensorShardingAttr sharding,
                             Operation *from, EmitErrorFn emitError);

/// Checks one sharding per value. Errors start with `<valueName> - ` if there
/// is one value, else with `<valueName> <index> - `. A single sharding without
/// any value must be on a maximal mesh or have no axes.
LogicalResult verifyShardings(TypeRange types,
                              TensorShardingPerValueAttr shardings,
                              Operation *from, StringRef valueName);

/// Checks a sub-axis of an axis of `fullSize` by itself.
LogicalResult verifySubAxis(AxisRefAttr axis, int64_t fullSize,
                            EmitErrorFn emitError);

/// Checks the shardings of the block arguments and results of an op. A fragment may
/// have some that its program cannot, since it does not verify them.
LogicalResult verifyEdgeOwnerShardings(DataFlowOpInterface op);

/// Whether what makes a value is around an op, or before it in a block. MLIR verifies
/// whether values dominate their uses when it has verified all ops by themselves. So
/// a value may be of an op that is not verified, or of one that reads the result of
/// this one. A verifier may ask such for nothing but their types.
bool isVerifiedBefore(Value value, Operation *op);

/// The sharding of what an op reads, for its verifier.
TensorShardingAttr getShardingToVerify(Value value, Operation *op);

/// Whether what reads `value` verifies if it reads `replacement` instead: some ops
/// are checked against the sharding of their operand.
bool canReadInstead(Value value, Value replacement);

} // namespace mlir::sdy

#endif
