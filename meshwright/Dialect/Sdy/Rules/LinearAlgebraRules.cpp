//===- LinearAlgebraRules.cpp ---------------------------------------------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

#include "meshwright/Dialect/Sdy/Rules/RuleFamilies.h"
#include "meshwright/Dialect/Sdy/Rules/ShardingRuleBuilder.h"

using namespace mlir;
using namespace mlir::sdy;
using namespace mlir::stablehlo;

OpShardingRuleAttr mlir::sdy::getRule(BatchNormInferenceOp op) {
  auto operand = cast<ShapedType>(op.getOperand().getType());
  auto featureDim = static_cast<int64_t>(op.getFeatureIndex());
  ShardingRuleBuilder rule(op);
  for (auto [index, size] : llvm::enumerate(operand.getShape())) {
    int64_t dim = index;
    auto factor = rule.add(size).operand(0, dim).result(0, dim);
    if (dim == featureDim)
      for (int64_t perFeature = 1; perFeature <= 4; ++perFeature)
        factor.operand(perFeature, 0);
  }
  return rule.build();
}

OpShardingRuleAttr mlir::sdy::getRule(CholeskyOp op) {
  auto type = cast<ShapedType>(op.getA().getType());
  ShardingRuleBuilder rule(op);
  rule.addEverywhere(type.getShape(), [&](int64_t dim) {
    return dim + 2 < type.getRank() ? FactorKind::PassThrough
                                    : FactorKind::NeedReplication;
  });
  return rule.build();
}

/// A transform of real numbers keeps half of the last dimension.
OpShardingRuleAttr mlir::sdy::getRule(FftOp op) {
  auto operand = cast<ShapedType>(op.getOperand().getType());
  auto result = cast<ShapedType>(op->getResult(0).getType());
  int64_t firstTransformed = operand.getRank() - op.getFftLength().size();
  ShardingRuleBuilder rule(op);
  for (auto [index, size] : llvm::enumerate(operand.getShape())) {
    int64_t dim = index;
    rule.add(size, dim < firstTransformed ? FactorKind::PassThrough
                                          : FactorKind::NeedReplication)
        .everywhere(dim)
        .block(size != result.getDimSize(dim));
  }
  return rule.build();
}

/// Solves op(a) x = b, or x op(a) = b, for matrices in the last dimensions.
OpShardingRuleAttr mlir::sdy::getRule(TriangularSolveOp op) {
  auto b = cast<ShapedType>(op.getB().getType());
  int64_t m = b.getRank() - 2, n = b.getRank() - 1;
  ShardingRuleBuilder rule(op);
  rule.addEverywhere(b.getShape().drop_back(2));

  bool isTransposed = op.getTransposeA() != Transpose::NO_TRANSPOSE;
  bool isLeft = op.getLeftSide();
  int64_t contracted = isLeft ? m : n, free = isLeft ? n : m;
  // Where x stands on the right, op(a) is contracted along its columns.
  bool contractsColumns = isLeft != isTransposed;
  int64_t aContracted = contractsColumns ? n : m;
  int64_t aFree = contractsColumns ? m : n;
  rule.add(b.getDimSize(contracted), FactorKind::NeedReplication)
      .operand(0, aFree)
      .operand(1, contracted);
  rule.add(b.getDimSize(free), FactorKind::NeedReplication)
      .operand(1, free)
      .result(0, free);
  rule.add(b.getDimSize(contracted), FactorKind::NeedReplication)
      .operand(0, aContracted)
      .result(0, contracted);
  return rule.build();
}
