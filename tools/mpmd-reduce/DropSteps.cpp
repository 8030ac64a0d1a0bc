//===- DropSteps.cpp - Programs with less in them -------------------------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

#include "ReductionSteps.h"
#include "Substitutes.h"

using namespace mlir;
using namespace meshwright;

void meshwright::dropFunctions(ModuleOp module, Candidates &candidates) {
  Substitutes substitutes(module);
  for (func::FuncOp func : substitutes.getEntries())
    if (candidates.take())
      func.erase();
}

void meshwright::dropResults(ModuleOp module, Candidates &candidates) {
  Substitutes substitutes(module);
  for (func::FuncOp func : substitutes.getEntries()) {
    BitVector dropped(func.getNumResults());
    for (unsigned i = 0, e = func.getNumResults(); i < e; ++i)
      if (candidates.take())
        dropped.set(i);
    if (dropped.none())
      continue;
    func.getBody().back().getTerminator()->eraseOperands(dropped);
    (void)func.eraseResults(dropped);
  }
}

static void dropOp(Operation *op, Substitutes &substitutes,
                   bool addsArguments) {
  SmallVector<Value> values;
  for (OpResult result : op->getResults()) {
    Value value;
    if (!result.use_empty() &&
        !(value = substitutes.find(result, addsArguments)))
      return;
    values.push_back(value);
  }
  for (auto [result, value] : llvm::zip(op->getResults(), values))
    if (value)
      result.replaceAllUsesWith(value);
  op->erase();
}

static void dropOps(ModuleOp module, Candidates &candidates,
                    bool addsArguments) {
  SmallVector<Operation *> dropped;
  module->walk<WalkOrder::PreOrder>([&](Operation *op) {
    // Functions go when nothing calls them.
    if (isa<ModuleOp, func::FuncOp>(op) ||
        op->hasTrait<OpTrait::IsTerminator>() ||
        (!addsArguments && isZeros(op)))
      return;
    if (candidates.take())
      dropped.push_back(op);
  });
  if (dropped.empty())
    return;
  Substitutes substitutes(module);
  // Inner ones first, and users before what they use.
  for (Operation *op : llvm::reverse(dropped))
    dropOp(op, substitutes, addsArguments);
}

void meshwright::dropOpsForArguments(ModuleOp module, Candidates &candidates) {
  dropOps(module, candidates, /*addsArguments=*/true);
}

void meshwright::dropOpsForZeros(ModuleOp module, Candidates &candidates) {
  dropOps(module, candidates, /*addsArguments=*/false);
}

void meshwright::dropArguments(ModuleOp module, Candidates &candidates) {
  Substitutes substitutes(module);
  for (func::FuncOp func : substitutes.getEntries()) {
    BitVector taken(func.getNumArguments());
    for (unsigned i = 0, e = func.getNumArguments(); i < e; ++i)
      if (candidates.take())
        taken.set(i);
    BitVector dropped = replaceArguments(func.getBody().front(), taken);
    if (dropped.any())
      (void)func.eraseArguments(dropped);
  }
}

void meshwright::dropAttributes(ModuleOp module, Candidates &candidates) {
  module->walk([&](Operation *op) {
    for (NamedAttribute attribute : llvm::to_vector(op->getDiscardableAttrs()))
      if (candidates.take())
        op->removeDiscardableAttr(attribute.getName());
    auto func = dyn_cast<func::FuncOp>(op);
    if (!func)
      return;
    for (unsigned i = 0, e = func.getNumArguments(); i < e; ++i)
      if (!function_interface_impl::getArgAttrs(func, i).empty() &&
          candidates.take())
        func.setArgAttrs(i, ArrayRef<NamedAttribute>());
    for (unsigned i = 0, e = func.getNumResults(); i < e; ++i)
      if (!function_interface_impl::getResultAttrs(func, i).empty() &&
          candidates.take())
        func.setResultAttrs(i, ArrayRef<NamedAttribute>());
  });
}

/// Returns an operation's results instead of what is computed from them. Tried
/// with one operation at a time, and only when few are left.
void meshwright::returnEarlier(ModuleOp module, Candidates &candidates) {
  constexpr unsigned kFew = 100;
  Substitutes substitutes(module);
  if (substitutes.getEntries().size() != 1)
    return;
  func::FuncOp func = substitutes.getEntries().front();
  SmallVector<Operation *> ops;
  for (Operation &op : func.getBody().front().without_terminator())
    if (op.getNumResults() > 0)
      ops.push_back(&op);
  if (ops.size() > kFew)
    return;
  Operation *chosen = nullptr;
  for (Operation *op : ops)
    if (candidates.take())
      chosen = op;
  Operation *terminator = func.getBody().back().getTerminator();
  // Never later, or rounds would go back and forth.
  auto isEarlier = [&](Value value) {
    Operation *op = value.getDefiningOp();
    return op && chosen->isBeforeInBlock(op);
  };
  if (!chosen || !candidates.isSingle() || terminator->getNumOperands() == 0 ||
      !llvm::all_of(terminator->getOperands(), isEarlier))
    return;
  terminator->setOperands(chosen->getResults());
  func.setFunctionType(FunctionType::get(
      module.getContext(), func.getArgumentTypes(), chosen->getResultTypes()));
  func.removeResAttrsAttr();
}
