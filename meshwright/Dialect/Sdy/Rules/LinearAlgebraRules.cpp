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
  int64_t solvedDim = op.getLeftSide() ? m : n;
  // x is on the right of op(a), or op(a) on the right of x.
  bool contractsColumns = op.getLeftSide() != isTransposed;
  for (int64_t dim : {m, n}) {
    auto factor = rule.add(b.getDimSize(dim), FactorKind::NeedReplication)
                      .operand(1, dim);
    if (dim == solvedDim)
      factor.operand(0, contractsColumns ? m : n);
    else
      factor.result(0, dim);
  }
  rule.add(b.getDimSize(solvedDim), FactorKind::NeedReplication)
      .operand(0, contractsColumns ? n : m)
      .result(0, solvedDim);
  return rule.build();
}
