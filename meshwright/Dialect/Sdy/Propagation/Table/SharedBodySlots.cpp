//===- SharedBodySlots.cpp - Ops of shared bodies by number ---------------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// A body is numbered once, from 0, and each call of it adds where its run begins:
//
//   func private @shared_body(%a) {   // %a is what the call reads
//     %0 = while (%x = %a) {…}        // op 0; slot 0 for %0, 1 for %x
//     %1 = sdy.data_flow_edge %0      // after the ops of the loop; a slot for both
//
//===----------------------------------------------------------------------===//

#include "meshwright/Dialect/Sdy/Propagation/Table/ShardingTable.h"
#include "meshwright/Dialect/Sdy/Shardings.h"

using namespace mlir;
using namespace mlir::sdy;

ShardingTable::Body ShardingTable::makeBody(func::FuncOp func) {
  Body body;
  auto name = StringAttr::get(func.getContext(), kShardingAttr);
  auto hasSharding = [](Value value) { return !!sdy::getSharding(value); };
  func.walk<WalkOrder::PreOrder>([&](Operation *op) {
    if (op == func || op == func.front().getTerminator())
      return;
    if (op->getDiscardableAttr(name) ||
        (isa_and_present<SdyDialect>(op->getDialect()) &&
         llvm::any_of(op->getResults(), hasSharding)))
      body.annotated.push_back(body.ops.size());
    indices.try_emplace(op, body.ops.size());
    body.ops.push_back(op);
    OpKind kind = classify(op);
    body.kinds.push_back(kind);
    body.firstSlots.push_back(body.numSlots);
    body.numSlots += op->getNumResults() + getNumArgumentSlots(op, kind);
    body.owners.resize(body.numSlots, body.ops.size() - 1);
  });
  addSlots(func, body);
  return body;
}

/// Sources of edges may be after them, so all ops must have their numbers.
void ShardingTable::addSlots(func::FuncOp func, Body &body) const {
  auto getOwn = [&](Operation *op, unsigned number) {
    return body.firstSlots[indices.lookup(op)] + number;
  };
  auto getOfEdge = [&](DataFlowOpInterface flow, Value target) {
    Value owner = flow.getEdgeOwnerFromTarget(target);
    if (!owner)
      return kNoSlot;
    if (DataFlowEdgeOp edge = DataFlowEdgeOp::getFor(owner))
      return getOwn(edge, 0);
    auto argument = dyn_cast<BlockArgument>(owner);
    return getOwn(flow.getOperation(),
                  argument ? flow->getNumResults() + argument.getArgNumber()
                           : cast<OpResult>(owner).getResultNumber());
  };
  auto getSlotInBody = [&](Value value) {
    auto argument = dyn_cast<BlockArgument>(value);
    if (argument && argument.getOwner() == &func.front())
      return kFirstArgument + argument.getArgNumber();
    if (DataFlowOpInterface flow = getDataFlowOp(value))
      return getOfEdge(flow, value);
    return argument ? kNoSlot
                    : getOwn(value.getDefiningOp(),
                             cast<OpResult>(value).getResultNumber());
  };
  for (auto [op, kind] : llvm::zip(body.ops, body.kinds)) {
    SmallVector<unsigned, 4> &slots = body.slots.emplace_back();
    if (kind == OpKind::Edge) {
      Value owner = op->getOperand(0);
      for (OpOperand *source : getDataFlowOp(owner).getEdgeSources(owner))
        slots.push_back(getSlotInBody(source->get()));
    } else {
      for (Value operand : op->getOperands())
        slots.push_back(getSlotInBody(operand));
    }
    for (Value result : op->getResults())
      slots.push_back(getSlotInBody(result));
  }
}

const ShardingTable::Body &
ShardingTable::getBody(stablehlo::CustomCallOp call) {
  auto func =
      symbols.lookup<func::FuncOp>(sdy::getSharedBodyName(call).getAttr());
  auto known = bodies.find(func);
  if (known == bodies.end())
    known = bodies.insert({func, makeBody(func)}).first;
  return known->second;
}

void ShardingTable::numberInstance(stablehlo::CustomCallOp call) {
  getBody(call);
  auto func =
      symbols.lookup<func::FuncOp>(sdy::getSharedBodyName(call).getAttr());
  auto known = bodies.find(func);
  Body &body = known->second;
  unsigned instance = instances.size();
  instanceOfCall[call] = instance;
  body.instances.push_back(instance);
  instances.push_back({call, func, numOps, numSlots,
                       static_cast<unsigned>(known - bodies.begin())});
  beginRun({numOps, numSlots, instance});
  numOps += body.ops.size();
  numSlots += body.numSlots;
}

void ShardingTable::getSlotsInBody(unsigned index,
                                   SmallVectorImpl<unsigned> &slots) const {
  const Instance &instance = instances[getInstance(index)];
  const Body &body = (bodies.begin() + instance.number)->second;
  unsigned firstSlot = instance.firstSlot;
  slots.clear();
  for (unsigned slot : body.slots[index - instance.firstIndex]) {
    if (slot == kNoSlot)
      slots.push_back(kNoSlot);
    else if (slot >= kFirstArgument)
      slots.push_back(
          argumentSlots[instance.firstArgument + slot - kFirstArgument]);
    else
      slots.push_back(firstSlot + slot);
  }
}
