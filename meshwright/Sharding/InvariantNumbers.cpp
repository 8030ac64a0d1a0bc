//===- InvariantNumbers.cpp - Equal values from the inputs alone ----------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

#include "meshwright/Sharding/InvariantNumbers.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

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
  for (FragmentOp fragment : func.getOps<FragmentOp>()) {
    Block *body = fragment.getBody();
    forward(fragment.getInputs(), body->getArguments());
    for (Operation &op : body->without_terminator())
      visit(&op);
    forward(body->getTerminator()->getOperands(), fragment.getResults());
  }
}

void InvariantNumbers::visit(Operation *op) {
  if (op->getNumResults() != 1 || op->getNumRegions() != 0 || !isPure(op) ||
      isa<sdy::ShardingConstraintOp, sdy::ReshardOp>(op))
    return;
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
       op->getResult(0).getType().getAsOpaquePointer()},
      first.size());
  if (isNew)
    add(op->getResult(0), comesFromInputs);
  else
    numbers[op->getResult(0)] = it->second;
  Operation *&last = lastFragment[it->second];
  numFragments[it->second] += last != op->getParentOp();
  last = op->getParentOp();
}
