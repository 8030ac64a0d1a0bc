//===- ShardingTable.h - Ops and shardings by number ------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// While shardings propagate they are kept outside of the IR. Ops are numbered
// in program order, an op before its body. Each value that can have a sharding
// of its own has a slot; all targets of a data-flow edge share the slot of the
// edge op. Function results have slots too.
//
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_DIALECT_SDY_PROPAGATION_SHARDINGTABLE_H
#define MESHWRIGHT_DIALECT_SDY_PROPAGATION_SHARDINGTABLE_H

#include "meshwright/Dialect/Sdy/SdyDialect.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/ADT/DenseMap.h"

namespace mlir::sdy {

/// Where the shardings of an op are.
enum class OpKind : uint8_t {
  /// In `sdy.sharding`, one per result.
  Plain,
  /// As for plain ops. What it returns may feed an edge of the op around it.
  Terminator,
  /// With arguments and function results.
  Function,
  /// With edges.
  DataFlow,
  Edge,
  /// In the op itself: ops of sdy and func.
  Other,
};

class ShardingTable {
public:
  static constexpr unsigned kNoSlot = ~0u;

  explicit ShardingTable(ModuleOp module);

  unsigned getNumOps() const { return ops.size(); }
  /// Null for ops that were erased.
  Operation *getOp(unsigned index) const { return ops[index]; }
  unsigned getIndex(Operation *op) const { return indices.lookup(op); }
  OpKind getKind(unsigned index) const { return kinds[index]; }
  /// The ops that nothing needed when the table was made.
  ArrayRef<unsigned> getUnused() const { return unused; }
  /// Erases an op and what is in it. Its slots stay, without a meaning.
  void eraseOp(unsigned index);

  unsigned getNumSlots() const { return shardings.size(); }
  /// kNoSlot if the value cannot have a sharding.
  unsigned getSlot(Value value) const;
  unsigned getResultSlot(func::FuncOp func, unsigned result) const;
  /// The op that a slot belongs to: what defines the value, or the function or
  /// data-flow op that it is an argument or function result of.
  unsigned getOwner(unsigned slot) const { return owners[slot]; }
  /// The value that a slot was made for; null for function results.
  Value getValue(unsigned slot) const;

  /// Null if there is none.
  TensorShardingAttr get(unsigned slot) const { return shardings[slot]; }
  /// Sets a sharding; the other results of the same op become open if they had
  /// no sharding.
  void set(unsigned slot, TensorShardingAttr sharding);

  /// Writes what has changed into the IR. Returns how many shardings that are.
  unsigned store();

private:
  void number(Operation *op);
  OpKind classify(Operation *op);
  void read(Operation *op, unsigned index, StringAttr attrName);
  void readOwners(ValueRange owners, ArrayRef<TensorShardingAttr> list);
  unsigned getOwnSlot(Value value) const;
  unsigned getEdgeSlot(DataFlowOpInterface flow, Value target) const;
  void storeSignature(func::FuncOp func, unsigned firstSlot);
  void storeOp(Operation *op, unsigned index);
  bool isChanged(unsigned slot) const {
    return shardings[slot] != stored[slot];
  }

  std::vector<Operation *> ops;
  std::vector<OpKind> kinds;
  std::vector<unsigned> unused;
  llvm::DenseMap<OperationName, OpKind> kindOfName;
  llvm::DenseMap<Operation *, unsigned> indices;
  /// By op: the slots of its results, then of its arguments, then, for
  /// functions, of its function results.
  std::vector<unsigned> firstSlots;
  /// By slot.
  std::vector<unsigned> owners;
  std::vector<TensorShardingAttr> shardings, stored;
};

} // namespace mlir::sdy

#endif
