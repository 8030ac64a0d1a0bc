//===- ShapeRules.cpp -----------------------------------------------------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

#include "meshwright/Dialect/Sdy/Rules/RuleFamilies.h"
#include "meshwright/Dialect/Sdy/Rules/ShardingRuleBuilder.h"

using namespace mlir;
using namespace mlir::sdy;
using namespace mlir::stablehlo;

OpShardingRuleAttr mlir::sdy::getRule(BitcastConvertOp op) {
  auto operand = cast<ShapedType>(op.getOperand().getType());
  auto result = cast<ShapedType>(op->getResult(0).getType());
  int64_t numShared = std::min(operand.getRank(), result.getRank());
  ShardingRuleBuilder rule(op);
  rule.addEverywhere(operand.getShape().take_front(numShared));
  if (operand.getRank() > numShared)
    rule.add(operand.getDimSize(numShared), FactorKind::NeedReplication)
        .operand(0, numShared);
  if (result.getRank() > numShared)
    rule.add(result.getDimSize(numShared), FactorKind::NeedReplication)
        .result(0, numShared);
  return rule.build();
}

OpShardingRuleAttr mlir::sdy::getRule(BroadcastInDimOp op) {
  auto operand = cast<ShapedType>(op.getOperand().getType());
  auto result = cast<ShapedType>(op->getResult(0).getType());
  ArrayRef<int64_t> dims = op.getBroadcastDimensions();
  ShardingRuleBuilder rule(op);
  for (auto [resultDim, size] : llvm::enumerate(result.getShape())) {
    const int64_t *it = llvm::find(dims, static_cast<int64_t>(resultDim));
    if (it == dims.end()) {
      rule.add(size).result(0, resultDim);
      continue;
    }
    int64_t operandDim = it - dims.begin();
    if (operand.getDimSize(operandDim) == size) {
      rule.add(size).operand(0, operandDim).result(0, resultDim);
      continue;
    }
    rule.add(1).operand(0, operandDim);
    rule.add(size).result(0, resultDim);
  }
  return rule.build();
}

OpShardingRuleAttr mlir::sdy::getRule(ReverseOp op) {
  auto type = cast<ShapedType>(op.getOperand().getType());
  ShardingRuleBuilder rule(op);
  rule.addEverywhere(type.getShape(), [&](int64_t dim) {
    return llvm::is_contained(op.getDimensions(), dim)
               ? FactorKind::Permutation
               : FactorKind::PassThrough;
  });
  return rule.build();
}

OpShardingRuleAttr mlir::sdy::getRule(TransposeOp op) {
  auto result = cast<ShapedType>(op.getResult().getType());
  ShardingRuleBuilder rule(op);
  for (auto [resultDim, size] : llvm::enumerate(result.getShape()))
    rule.add(size)
        .operand(0, op.getPermutation()[resultDim])
        .result(0, resultDim);
  return rule.build();
}

/// The state is not divided, and says nothing about the numbers.
OpShardingRuleAttr mlir::sdy::getRule(RngBitGeneratorOp op) {
  auto state = cast<ShapedType>(op.getInitialState().getType());
  auto output = cast<ShapedType>(op.getOutput().getType());
  ShardingRuleBuilder rule(op);
  for (auto [dim, size] : llvm::enumerate(state.getShape()))
    rule.add(size, FactorKind::NeedReplication)
        .operand(0, dim)
        .result(0, dim)
        .block();
  for (auto [dim, size] : llvm::enumerate(output.getShape()))
    rule.add(size).result(1, dim);
  return rule.build();
}

/// The sorted dimension is blocked if it is the only one to split at all.
OpShardingRuleAttr mlir::sdy::getRule(SortOp op) {
  auto type = cast<ShapedType>(op.getInputs().front().getType());
  int64_t sortDim = static_cast<int64_t>(op.getDimension());
  if (sortDim < 0)
    sortDim += type.getRank();
  bool isOnlyDim = true;
  for (auto [dim, size] : llvm::enumerate(type.getShape()))
    if (static_cast<int64_t>(dim) != sortDim && size != 1)
      isOnlyDim = false;
  ShardingRuleBuilder rule(op);
  for (auto [index, size] : llvm::enumerate(type.getShape())) {
    bool isSorted = static_cast<int64_t>(index) == sortDim;
    rule.add(size,
             isSorted ? FactorKind::NeedReplication : FactorKind::PassThrough)
        .everywhere(index)
        .block(isSorted && isOnlyDim);
  }
  return rule.build();
}

//===----------------------------------------------------------------------===//
// concatenate
//===----------------------------------------------------------------------===//

/// Whether what is joined was cut from one value, or all of it from some: then
/// the neighbours exchange only what moves. Slices and their origins are
/// compared through one slice.
static bool joinsSlices(ConcatenateOp op) {
  auto origin = [](Value value) {
    auto slice = value.getDefiningOp<SliceOp>();
    return slice ? slice.getOperand() : value;
  };
  auto isSlice = [](Value value) {
    return value.getDefiningOp<SliceOp>() != nullptr;
  };
  if (llvm::all_of(op.getInputs(), isSlice))
    return true;
  return llvm::any_of(op.getInputs(), isSlice) &&
         llvm::all_equal(llvm::map_range(op.getInputs(), origin));
}

OpShardingRuleAttr mlir::sdy::getRule(ConcatenateOp op) {
  auto result = cast<ShapedType>(op->getResult(0).getType());
  auto joinedDim = static_cast<int64_t>(op.getDimension());
  FactorKind joinedKind =
      joinsSlices(op) ? FactorKind::Permutation : FactorKind::NeedReplication;
  ShardingRuleBuilder rule(op);
  rule.addEverywhere(result.getShape(), [&](int64_t dim) {
    return dim == joinedDim ? joinedKind : FactorKind::PassThrough;
  });
  return rule.build();
}
