//===- WindowRules.cpp ----------------------------------------------------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

#include "meshwright/Dialect/Sdy/Rules/RuleFamilies.h"
#include "meshwright/Dialect/Sdy/Rules/ShardingRuleBuilder.h"

using namespace mlir;
using namespace mlir::sdy;
using namespace mlir::stablehlo;

OpShardingRuleAttr mlir::sdy::getRule(ReduceOp op) {
  auto input = cast<ShapedType>(op.getInputs().front().getType());
  int64_t numInputs = op.getInputs().size();
  ShardingRuleBuilder rule(op);
  int64_t resultDim = 0;
  for (auto [index, size] : llvm::enumerate(input.getShape())) {
    int64_t dim = index;
    bool isReduced = llvm::is_contained(op.getDimensions(), dim);
    auto factor = rule.add(size, isReduced ? FactorKind::Reduction
                                           : FactorKind::PassThrough);
    for (int64_t i = 0; i < numInputs; ++i)
      factor.operand(i, dim);
    if (!isReduced)
      factor.results(resultDim++);
  }
  return rule.build();
}

/// Whether the windows along a dimension are its elements, each by itself.
static bool isTrivialWindow(int64_t dim, ArrayRef<int64_t> sizes,
                            std::optional<ArrayRef<int64_t>> strides,
                            std::optional<DenseIntElementsAttr> padding) {
  if (sizes[dim] != 1 || (strides && (*strides)[dim] != 1))
    return false;
  if (!padding || padding->empty())
    return true;
  auto values = padding->getValues<int64_t>();
  return values[2 * dim] == 0 && values[2 * dim + 1] == 0;
}

OpShardingRuleAttr mlir::sdy::getRule(ReduceWindowOp op) {
  auto result = cast<ShapedType>(op->getResult(0).getType());
  ShardingRuleBuilder rule(op);
  rule.addEverywhere(result.getShape(), [&](int64_t dim) {
    return isTrivialWindow(dim, op.getWindowDimensions(), op.getWindowStrides(),
                           op.getPadding())
               ? FactorKind::PassThrough
               : FactorKind::Permutation;
  });
  return rule.build();
}

OpShardingRuleAttr mlir::sdy::getRule(SelectAndScatterOp op) {
  auto source = cast<ShapedType>(op.getSource().getType());
  auto result = cast<ShapedType>(op->getResult(0).getType());
  ShardingRuleBuilder rule(op);
  for (auto [dim, size] : llvm::enumerate(result.getShape())) {
    if (!op.getWindowDimensions() ||
        isTrivialWindow(dim, *op.getWindowDimensions(), op.getWindowStrides(),
                        op.getPadding())) {
      rule.add(size).everywhere(dim);
      continue;
    }
    rule.add(source.getDimSize(dim), FactorKind::NeedReplication)
        .operand(1, dim);
    rule.add(size, FactorKind::Permutation).operand(0, dim).result(0, dim);
  }
  return rule.build();
}
