//===- ShardingTable.h - Ops and shardings by number ------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// While shardings propagate they are kept outside of the IR. Ops are numbered
// in program order, an op before its body. Each value that can have a sharding
// of its own has a slot; all targets of a data-flow edge share the slot of the
// edge op. Function results have slots too.
//
// A call of a shared body (Sdy/SharedBodyCall.h) is an instance of it: the
// ops of the body have numbers and slots of their own for each, as if they were
// in its place. Numbers take no memory: those of an instance are a run, of which
// only the beginning is kept. Bodies get copies where instances end with other
// shardings.
//
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_DIALECT_SDY_PROPAGATION_TABLE_SHARDINGTABLE_H
#define MESHWRIGHT_DIALECT_SDY_PROPAGATION_TABLE_SHARDINGTABLE_H

#include "meshwright/Dialect/Sdy/Propagation/Table/LazyTable.h"
#include "meshwright/Dialect/Sdy/SdyDialect.h"
#include "meshwright/Dialect/Sdy/SharedBodyCall.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/SymbolTable.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/Sequence.h"
#include <optional>

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
  /// A data-flow op whose edges have no ops (Frames.h), and such an edge: it has a
  /// number of its own, and no slots but that of its owner.
  Frame,
  FrameEdge,
  /// In the op itself: ops of sdy and func.
  Other,
};

/// A value, and the instance of a shared body in which it is meant; 0 outside of
/// shared bodies.
struct PlacedValue {
  PlacedValue(Value value, unsigned instance = 0)
      : value(value), instance(instance) {}

  Value value;
  unsigned instance;
};

class ShardingTable {
public:
  static constexpr unsigned kNoSlot = ~0u;

  /// Shared bodies have no calls, and nothing that is not used.
  explicit ShardingTable(ModuleOp module);

  unsigned getNumOps() const { return numOps; }
  /// Null for ops that were erased. The op of a frame's edge is the frame.
  Operation *getOp(unsigned index) const;
  /// The instance that an op is in.
  unsigned getInstance(unsigned index) const {
    return getRunOfOp(index).instance;
  }
  unsigned getIndex(Operation *op, unsigned instance = 0) const {
    return instances[instance].firstIndex + indices.lookup(op);
  }
  OpKind getKind(unsigned index) const;
  /// The number of what defines a value: an op, or the edge of a frame's result.
  /// Nothing if that is an argument.
  std::optional<unsigned> getDefiningIndex(Value value) const;
  /// The number of the edge of an owner, if it has one.
  std::optional<unsigned> getEdgeIndex(PlacedValue owner) const;
  /// Whether it is a frame, or an edge of one. They stay as ops of edges do, also
  /// where nothing uses them.
  bool isOfFrame(unsigned index) const {
    OpKind kind = getKind(index);
    return kind == OpKind::Frame || kind == OpKind::FrameEdge;
  }
  /// The owner of a frame's edge.
  Value getFrameValue(unsigned index) const {
    return getValue(getFirstSlot(index)).value;
  }
  /// The ops that nothing needed when the table was made.
  ArrayRef<unsigned> getUnused() const { return unused; }
  /// The ops of OpKind::DataFlow.
  ArrayRef<unsigned> getDataFlowOps() const { return dataFlowOps; }
  /// Erases an op and what is in it. Its slots stay, without a meaning.
  void eraseOp(unsigned index);

  unsigned getNumSlots() const { return numSlots; }
  /// kNoSlot if the value cannot have a sharding.
  unsigned getSlot(PlacedValue placed) const;
  unsigned getResultSlot(func::FuncOp func, unsigned result) const;
  /// The op that a slot belongs to: what defines the value, or the function or
  /// data-flow op that it is an argument or function result of.
  unsigned getOwner(unsigned slot) const;
  /// The value that a slot was made for; null for function results, arguments of
  /// declarations and what ops had that are erased.
  PlacedValue getValue(unsigned slot) const;
  /// Those of the operands and results of an op in a shared body.
  void getSlotsInBody(unsigned index, SmallVectorImpl<unsigned> &slots) const;
  /// The uses of a value as they were if the ops of shared bodies were in place
  /// of their calls, each with the instance that it is in.
  void forEachUse(PlacedValue placed,
                  llvm::function_ref<void(OpOperand &, unsigned)> visit) const;

  /// Null if there is none.
  TensorShardingAttr get(unsigned slot) const { return shardings.get(slot); }
  /// Goes in order through the slots that have one.
  void forEachSharding(
      llvm::function_ref<void(unsigned, TensorShardingAttr)> visit) const {
    shardings.forEachSet(visit);
  }
  /// Sets a sharding; the other results of the same op become open if they had
  /// no sharding.
  void set(unsigned slot, TensorShardingAttr sharding);

  /// Writes what has changed into the IR. Returns how many shardings that are.
  unsigned store();

private:
  /// A shared body.
  struct Body {
    std::vector<Operation *> ops;
    std::vector<OpKind> kinds;
    unsigned numSlots = 0;
    /// By op, and by slot.
    std::vector<unsigned> firstSlots, owners;
    /// Those that may have a sharding.
    std::vector<unsigned> annotated;
    /// By op: the slots of its operands, then of its results, after that of the
    /// first op. Arguments have numbers from kFirstArgument on.
    std::vector<SmallVector<unsigned, 4>> slots;
    std::vector<unsigned> instances;
  };
  struct Instance {
    stablehlo::CustomCallOp call;
    func::FuncOp body;
    unsigned firstIndex = 0, firstSlot = 0;
    /// The number of the body, and where in argumentSlots its arguments are.
    unsigned number = 0, firstArgument = 0;
    bool isErased = false;
  };
  /// Ops whose numbers follow each other: those of one instance, or ops outside
  /// of shared bodies (instance 0), of which the lists have the first at
  /// `firstOwn` and its slots at `firstOwnSlot`.
  struct Run {
    unsigned firstIndex, firstSlot, instance, firstOwn = 0, firstOwnSlot = 0;
  };
  static constexpr unsigned kFirstArgument = 1u << 31;

  /// Runs are found by the first one of each stretch of as many numbers.
  static constexpr unsigned kStretch = 64;
  const Run &getRun(ArrayRef<unsigned> runOfStretch, unsigned Run::*first,
                    unsigned position) const;
  const Run &getRunOfOp(unsigned index) const;
  const Run &getRunOfSlot(unsigned slot) const;
  void beginRun(Run run);
  const Body &getBodyOf(const Run &run) const {
    return (bodies.begin() + instances[run.instance].number)->second;
  }
  unsigned getFirstSlot(unsigned index) const;
  /// How many slots an op needs beside those of its results.
  static unsigned getNumArgumentSlots(Operation *op, OpKind kind);
  /// Those that are stored with an op.
  llvm::iota_range<unsigned> getSlotsOf(unsigned index) const;
  Operation *&ownOp(unsigned index) {
    const Run &run = getRunOfOp(index);
    return ops[run.firstOwn + index - run.firstIndex];
  }

  void number(Operation *op);
  void add(Operation *op, OpKind kind, unsigned firstSlot);
  void addFrameEdges(unsigned first, unsigned count);
  void numberInstance(stablehlo::CustomCallOp call);
  const Body &getBody(stablehlo::CustomCallOp call);
  Body makeBody(func::FuncOp func);
  void addSlots(func::FuncOp func, Body &body) const;
  void reserve(ModuleOp module);
  /// The value that an argument or result of a shared body represents.
  PlacedValue resolve(PlacedValue placed) const;
  unsigned storeBody(func::FuncOp func, const Body &body);
  OpKind classify(Operation *op);
  OpKind classifyOwn(Operation *op);
  void read(Operation *op, unsigned index, StringAttr attrName);
  void readOwners(ValueRange owners, ArrayRef<TensorShardingAttr> list,
                  unsigned instance);
  unsigned getOwnSlot(PlacedValue placed) const;
  bool isFrameValue(PlacedValue placed) const;
  unsigned getEdgeSlot(DataFlowOpInterface flow, PlacedValue target) const;
  void storeSignature(func::FuncOp func, unsigned firstSlot);
  unsigned storeOp(Operation *op, unsigned index);
  void storeFrame(DataFlowOpInterface frame, unsigned firstSlot);
  bool isChanged(unsigned slot) const {
    TensorShardingAttr sharding = get(slot);
    return sharding && sharding != initial.lookup(slot);
  }

  SymbolTable symbols;
  unsigned numOps = 0, numSlots = 0;
  std::vector<Run> runs;
  std::vector<unsigned> runsOfOps, runsOfSlots;
  /// Ops outside of shared bodies, in order.
  std::vector<Operation *> ops;
  std::vector<OpKind> kinds;
  std::vector<unsigned> unused, dataFlowOps;
  /// While ops are numbered: the frame around them.
  struct {
    Operation *op = nullptr;
    unsigned firstSlot = 0;
    size_t firstOwnSlot = 0;
  } currentFrame;
  llvm::DenseMap<OperationName, OpKind> kindOfName;
  /// Ops of shared bodies have their place in the body.
  llvm::DenseMap<Operation *, unsigned> indices;
  /// The first one is no instance.
  std::vector<Instance> instances;
  llvm::DenseMap<Operation *, unsigned> instanceOfCall;
  llvm::MapVector<func::FuncOp, Body> bodies;
  std::vector<unsigned> argumentSlots;
  /// By op outside of shared bodies: the slots of its results, then of its
  /// arguments, then, for functions, of its function results; and by slot of
  /// these.
  std::vector<unsigned> firstSlots, owners;
  /// By slot.
  LazyTable<TensorShardingAttr> shardings;
  /// Those that there were when the table was made, by slot.
  llvm::DenseMap<unsigned, TensorShardingAttr> initial;
};

} // namespace mlir::sdy

#endif
