//===- InvariantNumbers.cpp - Equal values from the inputs alone ----------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

#include "meshwright/Sharding/InvariantNumbers.h"
#include "meshwright/Dialect/StableHLO/StablehloDialect.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "mlir/Transforms/RegionUtils.h"

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
                         transfer.getType().getAsOpaquePointer(),
                         0},
                        first.size());
  if (isNew)
    add(transfer, /*comesFromInputs=*/true);
  else
    numbers[transfer] = same->second;
}

static bool readsAround(Region &body) {
  llvm::SetVector<Value> values;
  getUsedValuesDefinedAbove(body, values);
  return !values.empty();
}

void InvariantNumbers::visit(Operation *op) {
  // A constraint computes nothing, but values that it splits in another way are
  // others: its sharding is among its attributes.
  if (op->getNumResults() != 1 ||
      !(isPure(op) || isa<sdy::ShardingConstraintOp>(op)))
    return;
  unsigned body = 0;
  if (op->getNumRegions() != 0) {
    if (!isa<stablehlo::ReduceOp>(op) || readsAround(op->getRegion(0)))
      return;
    body = 1 + bodies.add(
                   &op->getRegion(0), hashBody(op->getRegion(0)),
                   [](Region *a, Region *b) { return areEqualBodies(*a, *b); });
  }
  SmallVector<unsigned> operands;
  bool comesFromInputs = false;
  for (Value operand : op->getOperands()) {
    auto it = numbers.find(operand);
    if (it == numbers.end())
      return;
    operands.push_back(it->second);
    comesFromInputs |= isFromInputs[it->second];
  }
  NamedAttrList attrs(op->getAttrDictionary());
  attrs.erase(sdy::kShardingAttr);
  attrs.erase(sdy::kShardingRuleAttr);
  auto [it, isNew] = known.try_emplace(
      {operands, op->getName().getAsOpaquePointer(),
       attrs.getDictionary(op->getContext()).getAsOpaquePointer(),
       op->getResult(0).getType().getAsOpaquePointer(), body},
      first.size());
  if (isNew)
    add(op->getResult(0), comesFromInputs);
  else
    numbers[op->getResult(0)] = it->second;
  Operation *&last = lastFragment[it->second];
  numFragments[it->second] += last != op->getParentOp();
  last = op->getParentOp();
}
