//===- DotRules.cpp -------------------------------------------------------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

#include "meshwright/Dialect/Sdy/Rules/RuleFamilies.h"
#include "meshwright/Dialect/Sdy/Rules/ShardingRuleBuilder.h"

using namespace mlir;
using namespace mlir::sdy;
using namespace mlir::stablehlo;

OpShardingRuleAttr mlir::sdy::getRule(DotOp op) {
  auto lhs = cast<ShapedType>(op.getLhs().getType());
  auto rhs = cast<ShapedType>(op.getRhs().getType());
  bool isLhsMatrix = lhs.getRank() == 2, isRhsMatrix = rhs.getRank() == 2;
  ShardingRuleBuilder rule(op);
  if (isLhsMatrix)
    rule.add(lhs.getDimSize(0)).operand(0, 0).result(0, 0);
  if (isRhsMatrix)
    rule.add(rhs.getDimSize(1)).operand(1, 1).result(0, isLhsMatrix);
  rule.add(rhs.getDimSize(0), FactorKind::Reduction)
      .operand(0, isLhsMatrix)
      .operand(1, 0);
  return rule.build();
}

/// Batching dimensions, free ones of either side, contracted ones.
OpShardingRuleAttr mlir::sdy::getRule(DotGeneralOp op) {
  DotDimensionNumbersAttr numbers = op.getDotDimensionNumbers();
  auto lhs = cast<ShapedType>(op.getLhs().getType());
  auto rhs = cast<ShapedType>(op.getRhs().getType());
  ShardingRuleBuilder rule(op);

  int64_t resultDim = 0;
  for (auto [lhsDim, rhsDim] :
       llvm::zip_equal(numbers.getLhsBatchingDimensions(),
                       numbers.getRhsBatchingDimensions()))
    rule.add(lhs.getDimSize(lhsDim))
        .operand(0, lhsDim)
        .operand(1, rhsDim)
        .result(0, resultDim++);

  auto addFreeDims = [&](int64_t operand, ShapedType type,
                         ArrayRef<int64_t> batching,
                         ArrayRef<int64_t> contracting) {
    for (auto [dim, size] : llvm::enumerate(type.getShape()))
      if (!llvm::is_contained(batching, static_cast<int64_t>(dim)) &&
          !llvm::is_contained(contracting, static_cast<int64_t>(dim)))
        rule.add(size).operand(operand, dim).result(0, resultDim++);
  };
  addFreeDims(0, lhs, numbers.getLhsBatchingDimensions(),
              numbers.getLhsContractingDimensions());
  addFreeDims(1, rhs, numbers.getRhsBatchingDimensions(),
              numbers.getRhsContractingDimensions());

  for (auto [lhsDim, rhsDim] :
       llvm::zip_equal(numbers.getLhsContractingDimensions(),
                       numbers.getRhsContractingDimensions()))
    rule.add(lhs.getDimSize(lhsDim), FactorKind::Reduction)
        .operand(0, lhsDim)
        .operand(1, rhsDim);
  return rule.build();
}
