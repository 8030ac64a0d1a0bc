//===- CollectiveRules.cpp ------------------------------------------------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

#include "meshwright/Dialect/Sdy/Rules/RuleFamilies.h"
#include "meshwright/Dialect/Sdy/Rules/ShardingRuleBuilder.h"

using namespace mlir;
using namespace mlir::sdy;
using namespace mlir::stablehlo;

/// The dimension along which the pieces of the devices are joined or cut has
/// one factor on each side; the others are shared.
static OpShardingRuleAttr getRuleApartFromDim(Operation *op,
                                              int64_t specialDim) {
  auto operandType = cast<ShapedType>(op->getOperand(0).getType());
  auto resultType = cast<ShapedType>(op->getResult(0).getType());
  ShardingRuleBuilder rule(op);
  for (auto [dim, size] : llvm::enumerate(operandType.getShape())) {
    if (static_cast<int64_t>(dim) != specialDim) {
      rule.add(size).everywhere(dim);
      continue;
    }
    rule.add(size, FactorKind::NeedReplication).operands(dim);
    rule.add(resultType.getDimSize(dim), FactorKind::NeedReplication)
        .results(dim);
  }
  return rule.build();
}

OpShardingRuleAttr mlir::sdy::getRule(stablehlo::AllGatherOp op) {
  return getRuleApartFromDim(op, op.getAllGatherDim());
}

OpShardingRuleAttr mlir::sdy::getRule(stablehlo::ReduceScatterOp op) {
  return getRuleApartFromDim(op, op.getScatterDimension());
}

OpShardingRuleAttr mlir::sdy::getRule(stablehlo::AllToAllOp op) {
  auto operandType = cast<ShapedType>(op->getOperand(0).getType());
  auto resultType = cast<ShapedType>(op->getResult(0).getType());
  int64_t splitDim = op.getSplitDimension();
  int64_t concatDim = op.getConcatDimension();
  ShardingRuleBuilder rule(op);
  for (auto [index, size] : llvm::enumerate(operandType.getShape())) {
    int64_t dim = index;
    if (dim != splitDim && dim != concatDim) {
      rule.add(size).everywhere(dim);
      continue;
    }
    rule.add(size, FactorKind::NeedReplication).operands(dim);
    rule.add(resultType.getDimSize(dim), FactorKind::NeedReplication)
        .results(dim);
  }
  return rule.build();
}
