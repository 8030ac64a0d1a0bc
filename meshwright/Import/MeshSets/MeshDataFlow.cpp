//===- MeshDataFlow.cpp ---------------------------------------------------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

#include "meshwright/Import/MeshSets/MeshDataFlow.h"

using namespace mlir;
using namespace mlir::mpmd;

func::FuncOp MeshDataFlow::getCallee(CallOp call) const {
  auto callee = symbols.lookup<func::FuncOp>(call.getCallee());
  if (!callee || !getTopology(callee) || !getReturnOp(callee))
    return {};
  return callee;
}

Value MeshDataFlow::getYieldedValue(Value value) const {
  while (auto result = dyn_cast<OpResult>(value)) {
    Operation *terminator = nullptr;
    if (auto call = dyn_cast<CallOp>(result.getOwner())) {
      if (func::FuncOp callee = getCallee(call))
        terminator = getReturnOp(callee);
    } else if (auto loop = dyn_cast<ForOp>(result.getOwner())) {
      terminator = loop.getRegion().front().getTerminator();
    }
    if (!terminator || result.getResultNumber() >= terminator->getNumOperands())
      return value;
    value = terminator->getOperand(result.getResultNumber());
  }
  return value;
}

/// What one use needs; `home` is the block that holds the value.
MeshSet MeshDataFlow::getUses(OpOperand &use, Block *home) const {
  Operation *user = use.getOwner();
  unsigned index = use.getOperandNumber();
  if (isBarrierOp(user) && !use.get().getDefiningOp<BroadcastOp>())
    return {};
  if (isa<UnassignOp>(user))
    return {};
  if (user->getBlock() != home) {
    Operation *ancestor = home->findAncestorOpInBlock(*user);
    if (!ancestor || isa<ForOp>(ancestor))
      return {};
    return getMeshSet(ancestor, kUseSetAttr);
  }
  if (auto call = dyn_cast<CallOp>(user)) {
    func::FuncOp callee = getCallee(call);
    if (!callee || index >= callee.getNumArguments())
      return {};
    return getArgMeshSet(callee.getArgument(index), kUseSetAttr);
  }
  if (auto ret = dyn_cast<func::ReturnOp>(user)) {
    auto func = cast<func::FuncOp>(ret->getParentOp());
    if (!isMpmdFunction(func) || isEntryPointFunction(func))
      return {};
    return getResultUseSet(func, index);
  }
  if (auto loop = dyn_cast<ForOp>(user))
    return getArgMeshSet(loop.getRegion().getArgument(index), kUseSetAttr);
  return getMeshSet(user, kUseSetAttr);
}

// COMPAT(use-order): Sets list their meshes in use order, and are printed so.
MeshSet MeshDataFlow::getUses(Value value) const {
  SmallVector<MeshSet> sets;
  for (OpOperand &use : value.getUses())
    sets.push_back(getUses(use, value.getParentBlock()));
  return uniteAll(sets);
}

MeshSet MeshDataFlow::getUses(Operation *op) const {
  SmallVector<MeshSet> sets;
  for (Value value : op->getResults())
    sets.push_back(getUses(value));
  return uniteAll(sets);
}

MeshSet MeshDataFlow::getSources(Value value) const {
  value = getYieldedValue(value);
  if (auto arg = dyn_cast<BlockArgument>(value))
    return getArgMeshSet(arg, kSrcSetAttr);
  Operation *producer = value.getDefiningOp();
  if (isa<AssignOp>(producer))
    return {};
  return getMeshSet(producer, kSrcSetAttr);
}
