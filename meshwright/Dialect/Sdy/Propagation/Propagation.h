//===- Propagation.h - Propagate shardings through a module -----*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_DIALECT_SDY_PROPAGATION_PROPAGATION_H
#define MESHWRIGHT_DIALECT_SDY_PROPAGATION_PROPAGATION_H

#include "meshwright/Dialect/Sdy/Propagation/OpPlans.h"
#include "meshwright/Dialect/Sdy/Propagation/PropagationLog.h"
#include "meshwright/Dialect/Sdy/Propagation/ShardingGroups.h"
#include "meshwright/Dialect/Sdy/Propagation/Table/FuncEdges.h"
#include "meshwright/Dialect/Sdy/Propagation/Table/ShardingTable.h"
#include "mlir/IR/SymbolTable.h"
#include "llvm/ADT/BitVector.h"
#include "llvm/ADT/DenseSet.h"
#include "llvm/ADT/PointerIntPair.h"
#include "llvm/Support/Allocator.h"

namespace mlir::sdy {

/// Propagates the shardings of a table until nothing changes.
///
/// An op is only tried again where something has changed since, be it the
/// sharding of a value or what the level allows; and what happens at an op is
/// computed once for all ops of its kind with these shardings.
class Propagation {
public:
  struct Settings {
    /// The first of the levels to run.
    unsigned firstLevel = 0;
    bool isConservative = false;
    /// Where to write down what happens, if anywhere.
    PropagationLog *log = nullptr;
    /// Ops between shardings that are known; outside of shared bodies.
    ArrayRef<Operation *> collectives;
    bool hasFuncEdges = false;
  };

  /// Members of a group are kept alike.
  Propagation(ModuleOp module, func::FuncOp main, ShardingTable &table,
              const ShardingGroups &shardingGroups, Settings settings);

  /// Runs all levels, in each level the strategies in order.
  void run(ArrayRef<FactorStrategy> strategies);

  /// Records that the sharding of a slot was set from outside.
  void noteChange(unsigned slot);

private:
  static constexpr unsigned kNumStrategies = 2;

  using Change = ShardingChange;
  /// The sharding of each operand and result of an op.
  using State = SmallVector<TensorShardingAttr, 8>;

  void collectGroups(const ShardingGroups &shardingGroups);
  void collectManualEdges(Operation *op);
  void startLevel(unsigned level);
  void sweep(FactorStrategy strategy);
  void propagateFunctionResults(FactorStrategy strategy);

  void visit(unsigned index, FactorStrategy strategy);
  void eraseDeadOp(unsigned index);
  ArrayRef<unsigned> getSlotsOf(unsigned index);
  const OpPlan *getPlan(unsigned index);
  void transformEdge(unsigned index, TensorShardingAttr &sharding,
                     bool toSources);

  ArrayRef<Change> getChanges(const OpPlan &plan, unsigned directionsId,
                              FactorStrategy strategy,
                              ArrayRef<TensorShardingAttr> state);
  SmallVector<Change> computeChanges(const OpPlan &plan, unsigned directionsId,
                                     FactorStrategy strategy,
                                     ArrayRef<TensorShardingAttr> state);
  MeshAttr getMesh(TensorShardingAttr sharding);

  void logStep(PropagationStep step, const OpPlan &plan,
               ArrayRef<TensorShardingAttr> before, ArrayRef<Change> changes);
  void change(unsigned slot, TensorShardingAttr sharding);
  void markReaders(unsigned slot);
  void markUsers(PlacedValue value);
  bool hasSharedOperand(Operation *op, unsigned instance) const;
  void mark(unsigned index);

  func::FuncOp main;
  ShardingTable &table;
  Settings settings;
  SymbolTable symbols;
  FuncEdges funcEdges;
  llvm::DenseMap<Attribute, MeshAttr> meshes;
  OpPlans plans;
  /// By slot, where it is in a group; and the slots of each group.
  llvm::DenseMap<unsigned, unsigned> groupOf;
  std::vector<SmallVector<unsigned>> groups;
  /// What collectives read and make.
  llvm::DenseSet<unsigned> fixed; // Membership only.

  /// Ops that read a sharding with axes.
  BitVector active;
  /// Ops to try, by strategy.
  BitVector waiting[kNumStrategies];
  /// Ops that changed after their turn; the last one is tried next.
  std::vector<unsigned> again;
  BitVector isAgain;
  /// Edges across manual axes: the two ends have different shardings.
  BitVector manualEdges;
  unsigned level = 0;
  /// The last op that was tried in program order, and the op being tried.
  int64_t cursor = -1, current = -1;
  /// Whether changes let ops be tried in this sweep already.
  bool isQueuing = false;

  /// By op outside of shared bodies, made when needed: plan and whether it is
  /// known, and range in slotPool.
  LazyTable<llvm::PointerIntPair<const OpPlan *, 1, bool>> planOf;
  llvm::DenseMap<Operation *, const OpPlan *> planInBody;
  LazyTable<std::pair<unsigned, unsigned>> slotRange;
  std::vector<unsigned> slotPool;
  SmallVector<unsigned> slotsInBody;

  /// What happened at ops so far, by plan, directions, strategy and state.
  llvm::BumpPtrAllocator allocator;
  llvm::DenseMap<ArrayRef<const void *>, ArrayRef<Change>> known;
};

} // namespace mlir::sdy

#endif
