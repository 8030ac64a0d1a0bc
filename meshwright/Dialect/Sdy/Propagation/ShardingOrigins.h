//===- ShardingOrigins.h - Annotations, by name -----------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_DIALECT_SDY_PROPAGATION_SHARDINGORIGINS_H
#define MESHWRIGHT_DIALECT_SDY_PROPAGATION_SHARDINGORIGINS_H

#include "meshwright/Dialect/Sdy/Propagation/PropagationLog.h"
#include "meshwright/Dialect/Sdy/Propagation/Table/ShardingTable.h"

namespace mlir::sdy {

/// An annotation that was there before propagation.
struct ShardingOrigin {
  /// As Shardy names them: `input: 0`, `output: 0`, `constraint_0`,
  /// `mc_0_input: 0`; what it has no name for is `op_0_output: 0`.
  std::string name;
  /// The value that is annotated.
  unsigned slot;
};

/// Which annotation each axis of each value is from.
class ShardingOrigins {
public:
  /// Collects the annotations of a module. Where several name one axis of a
  /// value, constraints come first, then manual computations, arguments,
  /// results, and other ops. A function result has those of what is returned.
  ShardingOrigins(ModuleOp module, func::FuncOp main,
                  const ShardingTable &table);

  /// Takes the axes along the steps to where they went.
  void follow(const PropagationLog &log);

  /// Null if the axis is from no annotation, or not there.
  const ShardingOrigin *get(unsigned slot, AxisRefAttr axis) const;

  /// Writes `sdy.sharding_origins` on ops and functions, and on the origins
  /// that are ops `sdy.sharding_origin_name`.
  void write(ModuleOp module) const;

private:
  using AxisOrigins = SmallVector<std::pair<AxisRefAttr, unsigned>, 2>;

  unsigned getKey(unsigned slot) const;
  /// Gives the axes of a sharding of a value a new origin if they have none.
  /// Returns whether there are such axes.
  bool add(unsigned slot, TensorShardingAttr sharding, unsigned originSlot,
           const Twine &name);
  bool addOwn(unsigned slot, const Twine &name);
  void addManual(ManualComputationOp op, const Twine &name);
  bool addOwners(ValueRange owners, const Twine &name);
  bool addOther(Operation *op, const Twine &name);
  DictionaryAttr getEntry(MLIRContext *context, unsigned slot) const;

  const ShardingTable &table;
  func::FuncOp main;
  std::vector<ShardingOrigin> origins;
  /// By slot.
  llvm::DenseMap<unsigned, AxisOrigins> axesOf;
  /// Function results are as what is returned.
  llvm::DenseMap<unsigned, unsigned> returnedBy;
  /// The names of ops that are origins, by their numbers: a dead one is erased.
  SmallVector<std::pair<unsigned, std::string>> names;
};

} // namespace mlir::sdy

#endif
