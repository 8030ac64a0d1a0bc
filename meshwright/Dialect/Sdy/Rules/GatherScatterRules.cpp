//===- GatherScatterRules.cpp ---------------------------------------------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// gather and scatter relate three tensors alike: an operand, indices that pair
// up with batches, and a windowed tensor (the result of a gather, the updates
// of a scatter) whose dimensions are windows of the operand or batches.
//
//===----------------------------------------------------------------------===//

#include "meshwright/Dialect/Sdy/Rules/RuleFamilies.h"
#include "meshwright/Dialect/Sdy/Rules/ShardingRuleBuilder.h"

#include "meshwright/Dialect/StableHLO/GatherScatter/IndexedAccess.h"

using namespace mlir;
using namespace mlir::sdy;
using namespace mlir::stablehlo;

/// Walks the dimensions of the windowed tensor together with those of operand
/// and indices that they belong to.
static void
forEachWindowedDim(const IndexedAccess &access, int64_t rank,
                   function_ref<void(int64_t dim, int64_t operandDim)> window,
                   function_ref<void(int64_t dim, int64_t indicesDim,
                                     std::optional<int64_t> operandDim)>
                       batch) {
  int64_t operandDim = 0, indicesDim = 0;
  for (int64_t dim = 0; dim < rank; ++dim) {
    if (llvm::is_contained(access.window.list, dim)) {
      while (access.isDropped(operandDim))
        ++operandDim;
      window(dim, operandDim++);
      continue;
    }
    if (indicesDim == access.indexVectorDim)
      ++indicesDim;
    ArrayRef<int64_t> batching = access.indicesBatching.list;
    const int64_t *it = llvm::find(batching, indicesDim);
    std::optional<int64_t> paired;
    if (it != batching.end())
      paired = access.operandBatching.list[it - batching.begin()];
    batch(dim, indicesDim++, paired);
  }
}

//===----------------------------------------------------------------------===//
// gather
//===----------------------------------------------------------------------===//

/// Dimensions of the result, collapsed dimensions of the operand, the index
/// vectors.
OpShardingRuleAttr mlir::sdy::getRule(GatherOp op) {
  GatherDimensionNumbersAttr numbers = op.getDimensionNumbers();
  IndexedAccess access(numbers);
  auto operand = cast<ShapedType>(op.getOperand().getType());
  auto indices = cast<ShapedType>(op.getStartIndices().getType());
  auto result = cast<ShapedType>(op.getResult().getType());
  ArrayRef<int64_t> sliceSizes = op.getSliceSizes();
  ShardingRuleBuilder rule(op);

  auto addWindow = [&](int64_t resultDim, int64_t operandDim) {
    int64_t size = operand.getDimSize(operandDim);
    if (sliceSizes[operandDim] == size) {
      rule.add(size).operand(0, operandDim).result(0, resultDim);
    } else if (sliceSizes[operandDim] == 1) {
      rule.add(size, FactorKind::Reduction).operand(0, operandDim);
      rule.add(1, FactorKind::NeedReplication).result(0, resultDim);
    } else {
      rule.add(size, FactorKind::NeedReplication)
          .operand(0, operandDim)
          .result(0, resultDim)
          .block();
    }
  };
  auto addBatch = [&](int64_t resultDim, int64_t indicesDim,
                      std::optional<int64_t> operandDim) {
    auto factor = rule.add(result.getDimSize(resultDim))
                      .operand(1, indicesDim)
                      .result(0, resultDim);
    if (operandDim)
      factor.operand(0, *operandDim);
  };
  forEachWindowedDim(access, result.getRank(), addWindow, addBatch);

  for (int64_t dim : numbers.getCollapsedSliceDims()) {
    int64_t size = operand.getDimSize(dim);
    rule.add(size,
             size == 1 ? FactorKind::NeedReplication : FactorKind::Reduction)
        .operand(0, dim);
  }
  if (access.indexVectorDim < indices.getRank())
    rule.add(indices.getDimSize(access.indexVectorDim),
             FactorKind::NeedReplication)
        .operand(1, access.indexVectorDim);
  return rule.build();
}

//===----------------------------------------------------------------------===//
// scatter
//===----------------------------------------------------------------------===//

/// Whether partial results may be combined in any order: the body computes for
/// each input one op, the same for all, of the old element and the update.
static bool combinesInAnyOrder(ScatterOp op) {
  Block &body = op.getUpdateComputation().front();
  Operation *terminator = body.getTerminator();
  Operation *first = terminator->getOperand(0).getDefiningOp();
  int64_t numInputs = op.getInputs().size();
  for (auto [index, value] : llvm::enumerate(terminator->getOperands())) {
    Operation *combiner = value.getDefiningOp();
    bool isPred = getElementTypeOrSelf(value).isInteger(1);
    if (!isa_and_present<AddOp, MultiplyOp, MaximumOp, MinimumOp>(combiner) &&
        !(isPred && isa_and_present<AndOp, OrOp>(combiner)))
      return false;
    if (combiner->getName() != first->getName())
      return false;
    Value old = body.getArgument(index);
    Value update = body.getArgument(index + numInputs);
    if (combiner->getOperands() != ValueRange{old, update} &&
        combiner->getOperands() != ValueRange{update, old})
      return false;
  }
  return true;
}

/// Dimensions of the updates, inserted dimensions of the inputs, the index
/// vectors.
OpShardingRuleAttr mlir::sdy::getRule(ScatterOp op) {
  ScatterDimensionNumbersAttr numbers = op.getScatterDimensionNumbers();
  IndexedAccess access(numbers);
  int64_t numInputs = op.getInputs().size();
  auto input = cast<ShapedType>(op.getInputs().front().getType());
  auto indices = cast<ShapedType>(op.getScatterIndices().getType());
  auto updates = cast<ShapedType>(op.getUpdates().front().getType());
  FactorKind batchKind = combinesInAnyOrder(op) ? FactorKind::Reduction
                                                : FactorKind::NeedReplication;
  ShardingRuleBuilder rule(op);
  using Factor = ShardingRuleBuilder::Factor;

  auto mapInputs = [&](Factor factor, int64_t dim) {
    for (int64_t i = 0; i < numInputs; ++i)
      factor.operand(i, dim).result(i, dim);
  };
  auto mapUpdates = [&](Factor factor, int64_t dim) {
    for (int64_t i = 0; i < numInputs; ++i)
      factor.operand(numInputs + 1 + i, dim);
  };
  auto addWindow = [&](int64_t updateDim, int64_t inputDim) {
    int64_t size = input.getDimSize(inputDim);
    int64_t windowSize = updates.getDimSize(updateDim);
    if (size == windowSize) {
      Factor factor = rule.add(size);
      mapInputs(factor, inputDim);
      mapUpdates(factor, updateDim);
      return;
    }
    mapInputs(rule.add(size, FactorKind::NeedReplication), inputDim);
    mapUpdates(rule.add(windowSize, FactorKind::NeedReplication), updateDim);
  };
  auto addBatch = [&](int64_t updateDim, int64_t indicesDim,
                      std::optional<int64_t> inputDim) {
    Factor factor = rule.add(updates.getDimSize(updateDim),
                             inputDim ? FactorKind::PassThrough : batchKind);
    if (inputDim)
      mapInputs(factor, *inputDim);
    factor.operand(numInputs, indicesDim);
    mapUpdates(factor, updateDim);
  };
  forEachWindowedDim(access, updates.getRank(), addWindow, addBatch);

  for (int64_t dim : numbers.getInsertedWindowDims())
    mapInputs(rule.add(input.getDimSize(dim)), dim);
  if (access.indexVectorDim < indices.getRank())
    rule.add(indices.getDimSize(access.indexVectorDim),
             FactorKind::NeedReplication)
        .operand(numInputs, access.indexVectorDim);
  return rule.build();
}
