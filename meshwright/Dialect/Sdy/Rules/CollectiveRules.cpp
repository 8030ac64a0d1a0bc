//===- CollectiveRules.cpp ------------------------------------------------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

#include "meshwright/Dialect/Sdy/Rules/RuleFamilies.h"
#include "meshwright/Dialect/Sdy/Rules/ShardingRuleBuilder.h"

using namespace mlir;
using namespace mlir::sdy;
using namespace mlir::stablehlo;

/// Shares all dimensions but the special ones, along which the devices exchange
/// their pieces; each of these has one factor on either side.
static OpShardingRuleAttr getRuleApartFrom(Operation *op,
                                           ArrayRef<int64_t> specialDims) {
  if (!ShardingRuleBuilder::haveEqualRanks(op))
    return {};
  auto operandType = cast<ShapedType>(op->getOperand(0).getType());
  auto resultType = cast<ShapedType>(op->getResult(0).getType());
  ShardingRuleBuilder rule(op);
  for (auto [index, size] : llvm::enumerate(operandType.getShape())) {
    int64_t dim = index;
    if (!llvm::is_contained(specialDims, dim))
      rule.add(size).everywhere(dim);
  }
  for (int64_t dim : specialDims) {
    rule.add(operandType.getDimSize(dim), FactorKind::NeedReplication)
        .operands(dim);
    rule.add(resultType.getDimSize(dim), FactorKind::NeedReplication)
        .results(dim);
  }
  return rule.build();
}

OpShardingRuleAttr mlir::sdy::getRule(stablehlo::AllGatherOp op) {
  return getRuleApartFrom(op, static_cast<int64_t>(op.getAllGatherDim()));
}

OpShardingRuleAttr mlir::sdy::getRule(stablehlo::ReduceScatterOp op) {
  return getRuleApartFrom(op, static_cast<int64_t>(op.getScatterDimension()));
}

OpShardingRuleAttr mlir::sdy::getRule(stablehlo::AllToAllOp op) {
  int64_t splitDim = op.getSplitDimension();
  int64_t concatDim = op.getConcatDimension();
  if (splitDim == concatDim)
    return getRuleApartFrom(op, splitDim);
  return getRuleApartFrom(op, {splitDim, concatDim});
}
