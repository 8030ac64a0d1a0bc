//===- ShardingRuleBuilder.h - Builds a rule factor by factor ---*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_DIALECT_SDY_RULES_SHARDINGRULEBUILDER_H
#define MESHWRIGHT_DIALECT_SDY_RULES_SHARDINGRULEBUILDER_H

#include "meshwright/Dialect/Sdy/SdyDialect.h"

namespace mlir::sdy {

/// What it costs to split a factor.
enum class FactorKind {
  /// Nothing.
  PassThrough,
  /// The results hold partial values.
  Reduction,
  /// The operands have to be gathered first.
  NeedReplication,
  /// Neighbours exchange parts.
  Permutation
};

/// Numbers the factors in the order of the calls of `add`.
///
///   ShardingRuleBuilder rule(op);
///   rule.add(12).operand(0, 0).result(0, 0);
///   rule.add(8, FactorKind::Reduction).operand(0, 1).operand(1, 0);
///   return rule.build();
class ShardingRuleBuilder {
public:
  /// A factor that dimensions may still be added to, until the next is begun.
  class Factor {
  public:
    Factor operand(int64_t index, int64_t dim) const;
    Factor result(int64_t index, int64_t dim) const;
    /// The same dimension of every operand, or result, of a rank above zero.
    Factor operands(int64_t dim) const;
    Factor results(int64_t dim) const;
    Factor everywhere(int64_t dim) const { return operands(dim).results(dim); }
    /// May not be propagated to other tensors.
    Factor block(bool blocked = true) const;

  private:
    friend class ShardingRuleBuilder;
    Factor(ShardingRuleBuilder &rule, int64_t index)
        : rule(rule), index(index) {}
    ShardingRuleBuilder &rule;
    int64_t index;
  };

  /// All operands and results must have shapes; see `canHaveRule`.
  explicit ShardingRuleBuilder(Operation *op);

  /// Whether all operands and results have static shapes.
  static bool canHaveRule(Operation *op);
  /// Whether all operands and results, other than scalars, have the rank of the
  /// first result.
  static bool haveEqualRanks(Operation *op);

  Factor add(int64_t size, FactorKind kind = FactorKind::PassThrough);

  /// One factor per dimension of a shape, everywhere; the function names its
  /// kind.
  void addEverywhere(ArrayRef<int64_t> shape);
  void addEverywhere(ArrayRef<int64_t> shape,
                     function_ref<FactorKind(int64_t dim)> kindOf);

  /// Completes the rule: a dimension without factor gets one of size 1.
  OpShardingRuleAttr build();

private:
  using Factors = SmallVector<int64_t, 2>;

  void map(int64_t tensor, int64_t dim, int64_t factor);
  ArrayRef<Factors> getDims(int64_t tensor) const {
    return ArrayRef(factorsOfDim)
        .slice(firstDim[tensor], firstDim[tensor + 1] - firstDim[tensor]);
  }
  void completeDims();
  TensorMappingAttr buildMapping(int64_t tensor) const;
  SmallVector<int64_t> factorsOfKind(FactorKind kind) const;

  MLIRContext *context;
  int64_t numOperands, numTensors;
  /// Where the dimensions of each tensor begin, operands first, and the end.
  SmallVector<int64_t> firstDim;
  /// Factors of each dimension of each tensor.
  SmallVector<Factors, 16> factorsOfDim;
  SmallVector<int64_t> sizes;
  SmallVector<FactorKind> kinds;
  SmallVector<int64_t> blocked;
};

} // namespace mlir::sdy

#endif
