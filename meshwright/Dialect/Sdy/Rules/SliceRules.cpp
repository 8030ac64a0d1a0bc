//===- SliceRules.cpp -----------------------------------------------------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

#include "meshwright/Dialect/Sdy/Rules/RuleFamilies.h"
#include "meshwright/Dialect/Sdy/Rules/ShardingRuleBuilder.h"

#include "mlir/IR/Matchers.h"

using namespace mlir;
using namespace mlir::sdy;
using namespace mlir::stablehlo;

OpShardingRuleAttr mlir::sdy::getRule(DynamicSliceOp op) {
  auto operand = cast<ShapedType>(op.getOperand().getType());
  auto result = cast<ShapedType>(op.getResult().getType());
  ShardingRuleBuilder rule(op);
  for (auto [dim, size] : llvm::enumerate(operand.getShape())) {
    bool isSliced = size != result.getDimSize(dim);
    rule.add(size,
             isSliced ? FactorKind::NeedReplication : FactorKind::PassThrough)
        .operand(0, dim)
        .result(0, dim)
        .block(isSliced);
  }
  return rule.build();
}

OpShardingRuleAttr mlir::sdy::getRule(DynamicUpdateSliceOp op) {
  auto operand = cast<ShapedType>(op.getOperand().getType());
  auto update = cast<ShapedType>(op.getUpdate().getType());
  bool isPlaceKnown = llvm::all_of(op.getStartIndices(), [](Value index) {
    return matchPattern(index, m_Constant()) ||
           index.getDefiningOp<sdy::ConstantOp>();
  });
  ShardingRuleBuilder rule(op);
  for (auto [dim, size] : llvm::enumerate(operand.getShape())) {
    auto factor = rule.add(size).operand(0, dim).result(0, dim);
    int64_t updateSize = update.getDimSize(dim);
    if (size == updateSize)
      factor.operand(1, dim);
    else
      rule.add(updateSize, isPlaceKnown ? FactorKind::PassThrough
                                        : FactorKind::NeedReplication)
          .operand(1, dim);
  }
  return rule.build();
}

/// Dimensions of equal size are shared; the others move by less than a device's
/// part.
static OpShardingRuleAttr getShiftRule(Operation *op) {
  auto operand = cast<ShapedType>(op->getOperand(0).getType());
  auto result = cast<ShapedType>(op->getResult(0).getType());
  ShardingRuleBuilder rule(op);
  rule.addEverywhere(operand.getShape(), [&](int64_t dim) {
    return operand.getDimSize(dim) == result.getDimSize(dim)
               ? FactorKind::PassThrough
               : FactorKind::Permutation;
  });
  return rule.build();
}

OpShardingRuleAttr mlir::sdy::getRule(PadOp op) { return getShiftRule(op); }

OpShardingRuleAttr mlir::sdy::getRule(SliceOp op) { return getShiftRule(op); }
