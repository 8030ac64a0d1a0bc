//===- ShardingRuleBuilder.cpp --------------------------------------------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

#include "meshwright/Dialect/Sdy/Rules/ShardingRuleBuilder.h"

using namespace mlir;
using namespace mlir::sdy;

using Factor = ShardingRuleBuilder::Factor;

bool ShardingRuleBuilder::canHaveRule(Operation *op) {
  auto hasStaticShape = [](Type type) {
    auto shaped = dyn_cast<ShapedType>(type);
    return shaped && shaped.hasStaticShape();
  };
  return op->getNumOperands() && op->getNumResults() &&
         llvm::all_of(op->getOperandTypes(), hasStaticShape) &&
         llvm::all_of(op->getResultTypes(), hasStaticShape);
}

bool ShardingRuleBuilder::haveEqualRanks(Operation *op) {
  auto rankOf = [](Type type) { return cast<ShapedType>(type).getRank(); };
  int64_t rank = rankOf(op->getResult(0).getType());
  auto fits = [&](Type type) {
    return rankOf(type) == 0 || rankOf(type) == rank;
  };
  return llvm::all_of(op->getOperandTypes(), fits) &&
         llvm::all_of(op->getResultTypes(), fits);
}

ShardingRuleBuilder::ShardingRuleBuilder(Operation *op)
    : context(op->getContext()), numOperands(op->getNumOperands()),
      numTensors(numOperands + op->getNumResults()) {
  assert(canHaveRule(op) && "rule of an op without static shapes");
  firstDim.reserve(numTensors + 1);
  int64_t numDims = 0;
  auto append = [&](Type type) {
    firstDim.push_back(numDims);
    numDims += cast<ShapedType>(type).getRank();
  };
  llvm::for_each(op->getOperandTypes(), append);
  llvm::for_each(op->getResultTypes(), append);
  firstDim.push_back(numDims);
  factorsOfDim.resize(numDims);
}

//===----------------------------------------------------------------------===//
// Factors
//===----------------------------------------------------------------------===//

/// A factor of size 1 adds nothing to a dimension that has another.
void ShardingRuleBuilder::map(int64_t tensor, int64_t dim, int64_t factor) {
  assert(firstDim[tensor] + dim < firstDim[tensor + 1] && "no such dimension");
  Factors &factors = factorsOfDim[firstDim[tensor] + dim];
  if (factors.empty() || sizes[factor] != 1)
    factors.push_back(factor);
}

Factor Factor::operand(int64_t operandIndex, int64_t dim) const {
  rule.map(operandIndex, dim, index);
  return *this;
}

Factor Factor::result(int64_t resultIndex, int64_t dim) const {
  rule.map(rule.numOperands + resultIndex, dim, index);
  return *this;
}

Factor Factor::operands(int64_t dim) const {
  for (int64_t tensor = 0; tensor < rule.numOperands; ++tensor)
    if (rule.firstDim[tensor] != rule.firstDim[tensor + 1])
      rule.map(tensor, dim, index);
  return *this;
}

Factor Factor::results(int64_t dim) const {
  for (int64_t tensor = rule.numOperands; tensor < rule.numTensors; ++tensor)
    if (rule.firstDim[tensor] != rule.firstDim[tensor + 1])
      rule.map(tensor, dim, index);
  return *this;
}

Factor Factor::block(bool isBlocked) const {
  if (isBlocked)
    rule.blocked.push_back(index);
  return *this;
}

Factor ShardingRuleBuilder::add(int64_t size, FactorKind kind) {
  sizes.push_back(size);
  kinds.push_back(kind);
  return Factor(*this, sizes.size() - 1);
}

void ShardingRuleBuilder::addEverywhere(ArrayRef<int64_t> shape) {
  addEverywhere(shape, [](int64_t) { return FactorKind::PassThrough; });
}

void ShardingRuleBuilder::addEverywhere(
    ArrayRef<int64_t> shape, function_ref<FactorKind(int64_t)> kindOf) {
  for (auto [dim, size] : llvm::enumerate(shape))
    add(size, kindOf(dim)).everywhere(dim);
}

//===----------------------------------------------------------------------===//
// Building
//===----------------------------------------------------------------------===//

void ShardingRuleBuilder::completeDims() {
  for (Factors &factors : factorsOfDim)
    if (factors.empty()) {
      add(1);
      factors.push_back(sizes.size() - 1);
    }
}

TensorMappingAttr ShardingRuleBuilder::buildMapping(int64_t tensor) const {
  SmallVector<DimMappingAttr> dims;
  for (const Factors &factors : getDims(tensor))
    dims.push_back(DimMappingAttr::get(context, factors));
  return TensorMappingAttr::get(context, dims);
}

SmallVector<int64_t>
ShardingRuleBuilder::factorsOfKind(FactorKind wanted) const {
  SmallVector<int64_t> factors;
  for (auto [factor, kind] : llvm::enumerate(kinds))
    if (kind == wanted)
      factors.push_back(factor);
  return factors;
}

OpShardingRuleAttr ShardingRuleBuilder::build() {
  completeDims();
  // Most tensors of most ops are mapped alike, and looking up attributes is
  // what takes the time.
  SmallVector<TensorMappingAttr> mappings;
  for (int64_t tensor = 0; tensor < numTensors; ++tensor)
    mappings.push_back(tensor > 0 && getDims(tensor) == getDims(tensor - 1)
                           ? mappings.back()
                           : buildMapping(tensor));
  return OpShardingRuleAttr::get(
      context, sizes, ArrayRef(mappings).take_front(numOperands),
      ArrayRef(mappings).drop_front(numOperands),
      factorsOfKind(FactorKind::Reduction),
      factorsOfKind(FactorKind::NeedReplication),
      factorsOfKind(FactorKind::Permutation), blocked,
      /*is_custom_rule=*/false);
}
