//===- PartialSums.h - Which values may stay unreduced ----------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// A dot product or sum over a dimension that is split over devices leaves a
// partial sum on each of them. What is linear in such a value can be computed
// of the partial sums as well, in the same fragment or in the next ones of its
// mesh. Where anything else reads it, it must be reduced.
//
//   %d = dot %x, %y, contracting [0] x [0]   // partial over {"data"}
//   %t = transpose %d                        // partial
//   %s = add %acc, %t                        // partial if %acc is
//   %r = tanh %s                             // needs the sum
//
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_SHARDING_PARTIALSUMS_H
#define MESHWRIGHT_SHARDING_PARTIALSUMS_H

#include "meshwright/Dialect/Mpmd/MpmdDialect.h"
#include "meshwright/Sharding/SplitContraction.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/DenseSet.h"
#include "llvm/ADT/EquivalenceClasses.h"
#include <functional>

namespace mlir::mpmd {

/// The tensor of a value, whether or not it is on a mesh.
inline RankedTensorType getTensorType(Value value) {
  return dyn_cast<RankedTensorType>(getGlobalType(value.getType()));
}

/// Whether all elements of a value are one number.
bool isUniformValue(Value value);

/// Whether `op` is linear in its operand `index`, and would give the same if
/// applied to each of several summands, whatever the others are.
bool isLinearIn(Operation *op, unsigned index);

/// The values of the fragments of one function that may stay unreduced.
class PartialSums {
public:
  /// `isGathered` says what will be whole on each device, although it is not yet.
  explicit PartialSums(func::FuncOp func,
                       std::function<bool(Value)> isGathered = nullptr);

  /// The axes over which a value has yet to be summed; closed. Null if none.
  sdy::DimensionShardingAttr getAxes(Value value) const {
    return splits.lookup(value).axes;
  }
  /// The mesh of these axes, or the name of it.
  Attribute getMesh(Value value) const { return splits.lookup(value).mesh; }
  /// The number of partial sums of such a value.
  int64_t getNumPieces(Value value) const {
    return splits.lookup(value).pieces;
  }
  bool isPartial(Value value) const { return splits.contains(value); }
  /// Whether a value is zero: a summand without meaning.
  bool isZero(Value value) const { return zeros.contains(value); }
  /// The dimension over which an op leaves partial sums, if there is one.
  std::optional<SplitDimension> findContraction(Operation *op) const {
    return findSplitContraction(op, [this](Value v) { return isZero(v); });
  }
  /// Whether a use of a partial value takes its partial sums as they are; else
  /// it needs the sum.
  bool takesPartial(OpOperand &use) const;
  /// The axes that hold the parts that a value scales or masks where an op reads it;
  /// null if it does not.
  sdy::DimensionShardingAttr getAxesScaledBy(OpOperand &use) const;

  /// A reduction that stays where it is: something reads the sum, or `why`.
  struct Refusal {
    Operation *reduction;
    OpOperand *read = nullptr;
    std::string why;
  };
  ArrayRef<Refusal> getRefusals() const { return refusals; }

private:
  void visit(func::FuncOp func);
  void visit(FragmentOp fragment);
  void visit(Operation *op);
  bool addNeededSums();
  void mark(Value value, Value like);
  void start(Value value, const SplitDimension &dim);
  void visitSum(Operation *op);
  bool areSplitAlike(Value first, Value second) const;
  bool takesParts(OpOperand &operand) const;
  bool scalesParts(OpOperand &operand) const;
  bool isWholeOnEach(Value value, Value partial) const;
  void stackZeros(FragmentOp fragment);
  void dropUnprofitable(func::FuncOp func);

  std::function<bool(Value)> isGathered;
  /// Of a partial value: the axes that hold its parts, their mesh, and how many
  /// there are.
  struct Split {
    sdy::DimensionShardingAttr axes;
    Attribute mesh;
    int64_t pieces = 0;
  };
  DenseMap<Value, Split> splits;
  DenseSet<Value> zeros;
  /// Values of which something needs the sum: other ops read that, too, where
  /// they would not add parts to parts.
  DenseSet<Value> neededSums;
  SmallVector<Refusal> refusals;
  /// Values that are unreduced together or not at all.
  llvm::EquivalenceClasses<void *> together;
};

} // namespace mlir::mpmd

#endif
