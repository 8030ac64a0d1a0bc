//===- ChangedShardings.cpp - What is tried again after a change ----------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

#include "meshwright/Dialect/Sdy/Propagation/Propagation.h"

#include "meshwright/Dialect/Sdy/Shardings.h"

using namespace mlir;
using namespace mlir::sdy;

void Propagation::logStep(PropagationStep step, const OpPlan &plan,
                          ArrayRef<TensorShardingAttr> before,
                          ArrayRef<Change> changes) {
  if (!settings.log || changes.empty())
    return;
  // What has changed has axes, and so a mesh.
  step.edges = getPropagationEdges(
      plan.getRule(), getMesh(changes.front().second), before, changes);
  settings.log->steps.push_back(std::move(step));
}

void Propagation::change(unsigned slot, TensorShardingAttr sharding) {
  if (fixed.contains(slot))
    return;
  if (auto group = groupOf.find(slot); group != groupOf.end()) {
    if (settings.log)
      settings.log->addGroup(group->second, slot, groups[group->second],
                             sharding);
    for (unsigned member : groups[group->second]) {
      if (fixed.contains(member))
        continue;
      table.set(member, sharding);
      markReaders(member);
    }
    return;
  }
  table.set(slot, sharding);
  markReaders(slot);
}

void Propagation::noteChange(unsigned slot) { markReaders(slot); }

/// Marks all ops whose rule or edge has the value of a slot.
void Propagation::markReaders(unsigned slot) {
  PlacedValue placed = table.getValue(slot);
  Value value = placed.value;
  if (!value)
    return;
  unsigned index = table.getOwner(slot);
  mark(index);
  markUsers(placed);
  OpKind kind = table.getKind(index);
  if (kind != OpKind::Edge && kind != OpKind::DataFlow)
    return;
  Value owner =
      kind == OpKind::Edge ? table.getOp(index)->getOperand(0) : value;
  if (DataFlowOpInterface flow = getDataFlowOp(owner))
    for (Value target : flow.getNonEdgeOwnerTargets(owner))
      markUsers({target, placed.instance});
}

/// The users of a value, and the edges that it is a source of.
void Propagation::markUsers(PlacedValue value) {
  table.forEachUse(value, [&](OpOperand &use, unsigned instance) {
    Operation *user = use.getOwner();
    unsigned index = table.getIndex(user, instance);
    mark(index);
    for (FuncDataFlowEdgeOp edge : funcEdges.getEdges(use))
      mark(table.getIndex(edge));
    DataFlowOpInterface flow;
    OpKind kind = table.getKind(index);
    if (kind == OpKind::DataFlow || kind == OpKind::Frame)
      flow = cast<DataFlowOpInterface>(user);
    else if (kind == OpKind::Terminator)
      flow = dyn_cast_or_null<DataFlowOpInterface>(user->getParentOp());
    if (!flow)
      return;
    Value owner = flow.getEdgeOwnerFromSource(use);
    if (owner)
      if (std::optional<unsigned> edge = table.getEdgeIndex({owner, instance}))
        mark(*edge);
  });
}

/// An op that waits for its turn keeps it; the one being tried is done with.
void Propagation::mark(unsigned index) {
  active.set(index);
  for (BitVector &bits : waiting)
    bits.set(index);
  if (!isQueuing || index > cursor || index == current || isAgain.test(index))
    return;
  isAgain.set(index);
  again.push_back(index);
}
