//===- ShardedOp.h - What one device does of an operation -------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// The factors of an operation (its sharding rule) and the shardings of its
// operands and results say how devices share it: a factor that is split makes
// the work smaller, a contracted one makes the result partial, so that devices
// have to add it up, and an operand that is split another way is exchanged
// first.
//
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_COST_SHARDEDOP_H
#define MESHWRIGHT_COST_SHARDEDOP_H

#include "meshwright/Cost/Collective.h"
#include "meshwright/Dialect/Sdy/SdyDialect.h"

namespace meshwright {

struct ShardedOp {
  /// Into how many parts the work is divided.
  double parts = 1;
  /// Whether the op is a collective itself, and no kernel.
  bool isExchange = false;
  std::vector<Collective> collectives;
  /// Of each of the first collectives the operand that it brings into another
  /// sharding, which other readers may share; the rest are sums of results.
  std::vector<mlir::Value> operands;
};

/// What the devices of `mesh` share of an op, and what they exchange for it.
ShardedOp shareOp(mlir::Operation *op, mlir::sdy::MeshAttr mesh);

/// What brings a value from one sharding to another. Null is replicated, and so is
/// a sharding over another mesh.
void addReshard(mlir::RankedTensorType type, mlir::sdy::TensorShardingAttr from,
                mlir::sdy::TensorShardingAttr to, mlir::sdy::MeshAttr mesh,
                std::vector<Collective> &collectives);

/// What one device has of a value; null of what is no tensor.
mlir::RankedTensorType getLocalType(mlir::Value value,
                                    mlir::sdy::MeshAttr mesh);

/// Bytes of what one device has of a value.
double countLocalBytes(mlir::Value value, mlir::sdy::MeshAttr mesh);

/// The same, as the device keeps it in its memory.
double countHeldBytes(mlir::Value value, mlir::sdy::MeshAttr mesh,
                      const Device &device);

} // namespace meshwright

#endif
