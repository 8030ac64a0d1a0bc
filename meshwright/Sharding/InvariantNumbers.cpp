//===- InvariantNumbers.cpp - Equal values from the inputs alone ----------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

#include "meshwright/Sharding/InvariantNumbers.h"
#include "meshwright/Dialect/StableHLO/StablehloDialect.h"
#include "mlir/IR/OperationSupport.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "mlir/Transforms/RegionUtils.h"
#include "llvm/ADT/SmallVectorExtras.h"

using namespace mlir;
using namespace mlir::mpmd;

InvariantNumbers::InvariantNumbers(func::FuncOp func) {
  for (BlockArgument arg : func.getArguments())
    if (auto type = dyn_cast<MeshTensorType>(arg.getType());
        type && !type.getMemoryKind())
      add(arg, /*comesFromInputs=*/true);
  auto forward = [&](ValueRange from, ValueRange to) {
    for (auto [source, target] : llvm::zip(from, to))
      if (auto it = numbers.find(source); it != numbers.end()) {
        unsigned number = it->second;
        numbers[target] = number;
      }
  };
  for (Operation &op : func.getOps()) {
    if (auto transfer = dyn_cast<TransferOp>(op))
      visit(transfer);
    auto fragment = dyn_cast<FragmentOp>(op);
    if (!fragment)
      continue;
    Block *body = fragment.getBody();
    forward(fragment.getInputs(), body->getArguments());
    for (Operation &op : body->without_terminator())
      visit(&op);
    forward(body->getTerminator()->getOperands(), fragment.getResults());
  }
}

/// A weight that another mesh has is an input here as well; several transfers of
/// it bring the same.
void InvariantNumbers::visit(TransferOp transfer) {
  auto it = numbers.find(transfer.getTensor());
  if (!isa<BlockArgument>(transfer.getTensor()) || it == numbers.end() ||
      transfer.getType().getMemoryKind())
    return;
  auto [same, isNew] =
      known.try_emplace({{it->second},
                         nullptr,
                         nullptr,
                         {transfer.getType().getAsOpaquePointer()},
                         {}},
                        first.size());
  if (isNew)
    add(transfer, /*comesFromInputs=*/true);
  else
    numbers[transfer] = same->second;
}

SmallVector<Value> mpmd::getReadValues(Operation *op) {
  llvm::SetVector<Value> around;
  if (op->getNumRegions() != 0)
    getUsedValuesDefinedAbove(op->getRegions(), around);
  SmallVector<Value> values(op->getOperands());
  llvm::append_range(values, around);
  return values;
}

bool mpmd::onlyComputes(Operation *op) {
  // A constraint computes nothing, but has no effect either.
  if (isPure(op) || isa<sdy::ShardingConstraintOp>(op))
    return true;
  return op->getNumRegions() != 0 &&
         op->hasTrait<OpTrait::HasRecursiveMemoryEffects>() &&
         llvm::all_of(op->getRegions(), [](Region &body) {
           return llvm::all_of(body.getOps(), [](Operation &inner) {
             return onlyComputes(&inner);
           });
         });
}

/// Equal bodies read equal values from around them.
unsigned InvariantNumbers::classify(Region &body) {
  return bodies.add(&body, hashBody(body), [&](Region *a, Region *b) {
    DenseMap<Value, Value> counterparts;
    return OperationEquivalence::isRegionEquivalentTo(
        a, b,
        [&](Value valueA, Value valueB) {
          auto numberA = numbers.find(valueA), numberB = numbers.find(valueB);
          return success(numberA == numbers.end() || numberB == numbers.end()
                             ? counterparts.lookup(valueA) == valueB
                             : numberA->second == numberB->second);
        },
        [&](Value valueA, Value valueB) { counterparts[valueA] = valueB; },
        OperationEquivalence::IgnoreLocations);
  });
}

void InvariantNumbers::visit(Operation *op) {
  // Values that a constraint splits in another way are others: its sharding is
  // among its attributes.
  if (op->getNumResults() == 0 || !onlyComputes(op))
    return;
  bool comesFromInputs = false;
  for (Value value : getReadValues(op)) {
    auto it = numbers.find(value);
    if (it == numbers.end())
      return;
    comesFromInputs |= isFromInputs[it->second];
  }
  SmallVector<unsigned> operands = llvm::map_to_vector(
      op->getOperands(), [&](Value value) { return numbers.lookup(value); });
  SmallVector<const void *> types =
      llvm::map_to_vector(op->getResultTypes(),
                          [](Type type) { return type.getAsOpaquePointer(); });
  SmallVector<unsigned> bodiesOfOp = llvm::map_to_vector(
      op->getRegions(), [&](Region &body) { return classify(body); });
  NamedAttrList attrs(op->getAttrDictionary());
  attrs.erase(sdy::kShardingAttr);
  attrs.erase(sdy::kShardingRuleAttr);
  auto [it, isNew] = known.try_emplace(
      {operands, op->getName().getAsOpaquePointer(),
       attrs.getDictionary(op->getContext()).getAsOpaquePointer(), types,
       bodiesOfOp},
      first.size());
  for (auto [index, result] : llvm::enumerate(op->getResults())) {
    unsigned number = it->second + index;
    if (isNew)
      add(result, comesFromInputs);
    else
      numbers[result] = number;
    Operation *&last = lastFragment[number];
    numFragments[number] += last != op->getParentOp();
    last = op->getParentOp();
  }
}
