//===- OpPlans.h - What propagation does at an op ---------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// Propagation runs in levels, each of which lets axes propagate in more ops and
// along more factors:
//
//   0  elementwise ops and other ops that keep all data apart, where no operand
//      has another use; edges; slices, forward only
//   1  the same ops, however often their operands are used
//   2  all ops, along factors that pass from operands to results; broadcasts
//      backward only
//   3  all ops, along all factors; broadcasts backward only
//   4  all ops
//
// Programs have many ops and few kinds of them, so ops with equal rules share
// a plan, and equal ops are recognized without building their rule.
//
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_DIALECT_SDY_PROPAGATION_OPPLANS_H
#define MESHWRIGHT_DIALECT_SDY_PROPAGATION_OPPLANS_H

#include "meshwright/Dialect/Sdy/Factors/FactorPropagation.h"
#include "llvm/ADT/DenseMap.h"
#include <array>
#include <memory>
#include <tuple>

namespace mlir::sdy {

/// The last level.
inline constexpr unsigned kLastLevel = 4;

/// What kind of op it is for the levels.
enum class OpClass : uint8_t {
  /// Joins at level 0, in both directions.
  Elementwise,
  /// A dynamic slice: joins at level 0, forward only.
  Slice,
  /// Propagates backward only until the last level.
  Broadcast,
  Other,
  /// Elementwise, and operands with other uses do not matter.
  Edge,
  /// Has one direction at all levels.
  Barrier,
};

class OpPlan {
public:
  OpPlan(OpShardingRuleAttr rule, OpClass opClass, bool isElementwise,
         PropagationDirection barrierDirection);

  OpShardingRuleAttr getRule() const { return rule; }
  bool isElementwise() const { return elementwise; }
  /// Whether the rule is that of an op: edges and barriers only pass on.
  bool isOfOp() const {
    return opClass != OpClass::Edge && opClass != OpClass::Barrier;
  }
  /// Whether level 0 asks for the number of uses of the operands.
  bool asksForUses() const {
    return opClass == OpClass::Elementwise || opClass == OpClass::Slice;
  }
  /// A number for the directions of all factors at a level; equal directions
  /// have equal numbers. `hasSharedOperand` tells that a non-scalar operand has
  /// more than one use.
  unsigned getDirectionsId(unsigned level, bool hasSharedOperand) const {
    return hasSharedOperand && level == 0 && asksForUses() ? 0 : ids[level];
  }
  ArrayRef<PropagationDirection> getDirections(unsigned id) const {
    return directions[id];
  }
  /// Whether a level allows anything that the one before does not.
  bool isChangedAt(unsigned level) const {
    return (level == 1 && asksForUses()) || ids[level] != ids[level - 1];
  }

private:
  PropagationDirection getDirection(unsigned level, int64_t factor) const;

  OpShardingRuleAttr rule;
  OpClass opClass;
  bool elementwise;
  PropagationDirection barrierDirection;
  /// Distinct ones; the first has None for all factors.
  SmallVector<SmallVector<PropagationDirection>, 3> directions;
  std::array<unsigned, kLastLevel + 1> ids;
};

/// Makes plans, each once.
class OpPlans {
public:
  /// Null if no shardings pass through the op.
  const OpPlan *getFor(Operation *op);
  /// For values that are sharded alike, as many operands as given and one
  /// result.
  const OpPlan *getIdentity(ShapedType type, unsigned numOperands);
  /// To be called before an op that getFor has seen is erased.
  void forget(Operation *op);

private:
  /// Compares ops by all that their rule may depend on.
  struct EqualForRules : llvm::DenseMapInfo<Operation *> {
    static unsigned getHashValue(const Operation *op);
    static bool isEqual(const Operation *a, const Operation *b);
  };
  using Key = std::tuple<Attribute, unsigned, unsigned, unsigned>;

  const OpPlan *create(Operation *op);
  const OpPlan *get(OpShardingRuleAttr rule, OpClass opClass,
                    bool isElementwise, PropagationDirection barrierDirection);

  llvm::DenseMap<Operation *, const OpPlan *, EqualForRules> planOfOp;
  llvm::DenseMap<std::pair<Type, unsigned>, const OpPlan *> identities;
  llvm::DenseMap<Key, std::unique_ptr<OpPlan>> plans;
};

} // namespace mlir::sdy

#endif
