//===- ConvolutionRule.cpp ------------------------------------------------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// Each result element of a spatial dimension sees a window of the input. Along
// the dimension the input has as many windows as the result has elements, and
// each window has the size of the kernel; where the windows do not overlap both
// are factors of the input, otherwise only as much of them as fits.
//
//===----------------------------------------------------------------------===//

#include "meshwright/Dialect/Sdy/Rules/RuleFamilies.h"
#include "meshwright/Dialect/Sdy/Rules/ShardingRuleBuilder.h"

using namespace mlir;
using namespace mlir::sdy;
using namespace mlir::stablehlo;

/// The factors of one spatial dimension, that of the larger size first.
static void addSpatialDim(ShardingRuleBuilder &rule, int64_t lhsDim,
                          int64_t kernelDim, int64_t resultDim,
                          ConvolutionOp op) {
  int64_t remaining =
      cast<ShapedType>(op.getLhs().getType()).getDimSize(lhsDim);
  int64_t kernelSize =
      cast<ShapedType>(op.getRhs().getType()).getDimSize(kernelDim);
  int64_t numWindows =
      cast<ShapedType>(op->getResult(0).getType()).getDimSize(resultDim);
  auto takeUpTo = [&](int64_t size) {
    int64_t taken = std::min(remaining, size);
    if (taken > 1)
      remaining /= taken;
    return taken;
  };
  auto addWindows = [&] {
    if (int64_t size = takeUpTo(numWindows); size > 1)
      rule.add(size, FactorKind::Permutation)
          .operand(0, lhsDim)
          .result(0, resultDim);
  };
  auto addKernel = [&] {
    if (int64_t size = takeUpTo(kernelSize); size > 1)
      rule.add(size, FactorKind::Reduction)
          .operand(0, lhsDim)
          .operand(1, kernelDim);
  };
  if (numWindows >= kernelSize) {
    addWindows();
    addKernel();
  } else {
    addKernel();
    addWindows();
  }
}

/// Batch, spatial dimensions, features; groups before the dimension that they
/// are part of.
OpShardingRuleAttr mlir::sdy::getRule(ConvolutionOp op) {
  ConvDimensionNumbersAttr numbers = op.getDimensionNumbers();
  auto kernel = cast<ShapedType>(op.getRhs().getType());
  auto result = cast<ShapedType>(op->getResult(0).getType());
  int64_t numBatchGroups = op.getBatchGroupCount();
  int64_t numFeatureGroups = op.getFeatureGroupCount();
  int64_t lhsBatch = numbers.getInputBatchDimension();
  int64_t lhsFeature = numbers.getInputFeatureDimension();
  int64_t kernelInput = numbers.getKernelInputFeatureDimension();
  int64_t kernelOutput = numbers.getKernelOutputFeatureDimension();
  int64_t resultBatch = numbers.getOutputBatchDimension();
  int64_t resultFeature = numbers.getOutputFeatureDimension();

  ShardingRuleBuilder rule(op);
  if (numBatchGroups > 1)
    rule.add(numBatchGroups)
        .operand(0, lhsBatch)
        .operand(1, kernelOutput)
        .result(0, resultFeature);
  rule.add(result.getDimSize(resultBatch))
      .operand(0, lhsBatch)
      .result(0, resultBatch);
  for (auto [lhsDim, kernelDim, resultDim] :
       llvm::zip_equal(numbers.getInputSpatialDimensions(),
                       numbers.getKernelSpatialDimensions(),
                       numbers.getOutputSpatialDimensions()))
    addSpatialDim(rule, lhsDim, kernelDim, resultDim, op);
  if (numFeatureGroups > 1)
    rule.add(numFeatureGroups)
        .operand(0, lhsFeature)
        .operand(1, kernelOutput)
        .result(0, resultFeature);
  rule.add(kernel.getDimSize(kernelInput), FactorKind::Reduction)
      .operand(0, lhsFeature)
      .operand(1, kernelInput);
  int64_t numOutputs =
      kernel.getDimSize(kernelOutput) / (numBatchGroups * numFeatureGroups);
  if (numOutputs > 1)
    rule.add(numOutputs).operand(1, kernelOutput).result(0, resultFeature);
  return rule.build();
}
