//===- Propagation.cpp - Propagate shardings through a module -------------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// A sweep tries ops in program order. An op that changes a value lets all that
// read this value be tried again: next if they had their turn, else when their
// turn comes. Ops without axes around them cannot change anything and are never
// looked at; nor are ops that were tried with the same shardings before.
//
// The order settles conflicts, so it is part of the result.
//
//===----------------------------------------------------------------------===//

#include "meshwright/Dialect/Sdy/Propagation/Propagation.h"
#include "meshwright/IR/OutsideReads.h"

#include "meshwright/Dialect/Sdy/Shardings.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

using namespace mlir;
using namespace mlir::sdy;

static bool hasAxes(TensorShardingAttr sharding) {
  return sharding && !sharding.isFullyReplicated();
}

Propagation::Propagation(ModuleOp module, func::FuncOp main,
                         ShardingTable &table,
                         const ShardingGroups &shardingGroups,
                         Settings settings)
    : main(main), table(table), settings(settings), symbols(module),
      active(table.getNumOps()), isAgain(table.getNumOps()),
      manualEdges(table.getNumOps()), planOf(table.getNumOps()),
      slotRange(table.getNumOps()) {
  if (settings.hasFuncEdges)
    funcEdges = FuncEdges(module, symbols);
  for (BitVector &bits : waiting)
    bits.resize(table.getNumOps());
  collectGroups(shardingGroups);
  table.forEachSharding([&](unsigned slot, TensorShardingAttr sharding) {
    if (hasAxes(sharding))
      markReaders(slot);
  });
  // Ops without uses go when their turn comes.
  for (unsigned index : table.getUnused())
    for (BitVector &bits : waiting)
      bits.set(index);
  for (unsigned index : table.getDataFlowOps())
    collectManualEdges(table.getOp(index));
  for (Operation *op : settings.collectives) {
    fixed.insert(table.getSlot(op->getOperand(0)));
    fixed.insert(table.getSlot(op->getResult(0)));
  }
}

/// The shardings of arguments do not show manual axes, but may have some.
void Propagation::collectManualEdges(Operation *op) {
  auto manual = dyn_cast<ManualComputationOp>(op);
  if (!manual)
    return;
  auto collect = [&](Value owner) {
    DataFlowEdgeOp edge = DataFlowEdgeOp::getFor(owner);
    if (!edge)
      return;
    manualEdges.set(table.getIndex(edge));
    mark(table.getIndex(edge));
  };
  llvm::for_each(manual.getBody().getArguments(), collect);
  llvm::for_each(manual.getResults(), collect);
}

void Propagation::collectGroups(const ShardingGroups &shardingGroups) {
  for (ArrayRef<ShardingGroupOp> members : shardingGroups) {
    SmallVector<unsigned> slots;
    for (ShardingGroupOp op : members)
      if (unsigned slot = table.getSlot(op.getInput());
          slot != ShardingTable::kNoSlot)
        slots.push_back(slot);
    for (unsigned slot : slots)
      groupOf.try_emplace(slot, groups.size());
    groups.push_back(std::move(slots));
  }
}

//===----------------------------------------------------------------------===//
// Levels and sweeps
//===----------------------------------------------------------------------===//

void Propagation::run(ArrayRef<FactorStrategy> strategies) {
  for (unsigned next = settings.firstLevel; next <= kLastLevel; ++next) {
    startLevel(next);
    for (FactorStrategy strategy : strategies)
      sweep(strategy);
  }
}

/// Lets those ops be tried for which the level makes a difference.
void Propagation::startLevel(unsigned next) {
  level = next;
  for (unsigned index : active.set_bits()) {
    if (level != settings.firstLevel &&
        (!getPlan(index) || !getPlan(index)->isChangedAt(level)))
      continue;
    for (BitVector &bits : waiting)
      bits.set(index);
  }
}

void Propagation::sweep(FactorStrategy strategy) {
  BitVector &bits = waiting[static_cast<unsigned>(strategy)];
  propagateFunctionResults(strategy);
  isQueuing = true;
  for (cursor = -1;;) {
    if (!again.empty()) {
      current = again.back();
      again.pop_back();
      isAgain.reset(current);
    } else {
      current = cursor = bits.find_next(cursor);
      if (cursor == -1)
        break;
    }
    bits.reset(current);
    visit(current, strategy);
  }
  isQueuing = false;
  propagateFunctionResults(strategy);
}

/// Between what the main function returns and the shardings of its results.
void Propagation::propagateFunctionResults(FactorStrategy strategy) {
  if (!main.getBody().hasOneBlock())
    return;
  auto terminator = dyn_cast<func::ReturnOp>(main.front().getTerminator());
  if (!terminator)
    return;
  for (OpOperand &operand : terminator->getOpOperands()) {
    auto type = dyn_cast<ShapedType>(operand.get().getType());
    unsigned returned = table.getSlot(operand.get());
    if (!type || !type.hasStaticShape() || returned == ShardingTable::kNoSlot)
      continue;
    unsigned result = table.getResultSlot(main, operand.getOperandNumber());
    TensorShardingAttr state[] = {table.get(returned), table.get(result)};
    if (!hasAxes(state[0]) && !hasAxes(state[1]))
      continue;
    const OpPlan &plan = *plans.getIdentity(type, /*numOperands=*/1);
    ArrayRef<Change> changes = getChanges(
        plan, plan.getDirectionsId(kLastLevel, false), strategy, state);
    logStep({PropagationStep::Place::FunctionResult,
             operand.getOperandNumber(),
             {returned, result},
             /*numOperands=*/1,
             /*edges=*/{}},
            plan, state, changes);
    for (auto [position, sharding] : changes)
      change(position == 0 ? returned : result, sharding);
  }
}

//===----------------------------------------------------------------------===//
// One op
//===----------------------------------------------------------------------===//

/// Whether a non-scalar operand has other uses.
bool Propagation::hasSharedOperand(Operation *op, unsigned instance) const {
  return llvm::any_of(op->getOperands(), [&](Value operand) {
    auto type = dyn_cast<ShapedType>(operand.getType());
    if (type && type.hasRank() && type.getRank() == 0)
      return false;
    unsigned numUses = 0;
    table.forEachUse({operand, instance},
                     [&](OpOperand &, unsigned) { ++numUses; });
    return numUses != 1;
  });
}

void Propagation::visit(unsigned index, FactorStrategy strategy) {
  Operation *op = table.getOp(index);
  if (!op)
    return;
  unsigned instance = table.getInstance(index);
  bool isOfFrame = table.isOfFrame(index);
  if (!instance && !isOfFrame && op->use_empty() && isOpTriviallyDead(op))
    return eraseDeadOp(index);
  const OpPlan *plan = active.test(index) ? getPlan(index) : nullptr;
  if (!plan)
    return;
  State state;
  ArrayRef<unsigned> slots = getSlotsOf(index);
  for (unsigned slot : slots)
    state.push_back(slot == ShardingTable::kNoSlot ? TensorShardingAttr()
                                                   : table.get(slot));
  if (manualEdges.test(index))
    transformEdge(index, state.back(), /*toSources=*/true);
  if (llvm::none_of(state, hasAxes))
    return;
  bool isShared =
      level == 0 && plan->asksForUses() && hasSharedOperand(op, instance);
  ArrayRef<Change> changes = getChanges(
      *plan, plan->getDirectionsId(level, isShared), strategy, state);
  if (changes.empty())
    return;
  logStep({PropagationStep::Place::Op, index, llvm::to_vector<4>(slots),
           static_cast<unsigned>(plan->getRule().getOperandMappings().size()),
           /*edges=*/{}},
          *plan, state, changes);
  for (auto [position, sharding] : changes) {
    TensorShardingAttr changed = sharding;
    if (manualEdges.test(index) && position + 1 == state.size())
      transformEdge(index, changed, /*toSources=*/false);
    // An op may read a value many times.
    if (unsigned slot = slots[position];
        slot != ShardingTable::kNoSlot && table.get(slot) != changed)
      change(slot, changed);
  }
}

/// The sharding of an edge looks different to its sources if manual axes lie
/// between them.
void Propagation::transformEdge(unsigned index, TensorShardingAttr &sharding,
                                bool toSources) {
  Value owner = cast<DataFlowEdgeOp>(table.getOp(index)).getInput();
  sharding =
      getDataFlowOp(owner).transformTargetSharding(owner, sharding, toSources);
}

/// What computed inputs only for this op comes next; it may be dead now.
void Propagation::eraseDeadOp(unsigned index) {
  Operation *op = table.getOp(index);
  SetVector<Value> inputs = mpmd::getOutsideReads(op);
  op->walk([&](Operation *nested) { plans.forget(nested); });
  table.eraseOp(index);
  for (Value input : inputs) {
    // Inputs with one use left join earlier levels; not before the next
    // sweep, where they had their turn.
    isQueuing = false;
    markUsers(input);
    isQueuing = true;
    std::optional<unsigned> def = table.getDefiningIndex(input);
    if (def && (input.use_empty() || input.hasOneUse()))
      mark(*def);
  }
}

const OpPlan *Propagation::getPlan(unsigned index) {
  Operation *op = table.getOp(index);
  if (op && table.getInstance(index)) {
    auto [inBody, isNew] = planInBody.try_emplace(op, nullptr);
    if (isNew)
      inBody->second = plans.getFor(op);
    return inBody->second;
  }
  auto &known = planOf.at(index);
  if (auto edge = dyn_cast_or_null<FuncDataFlowEdgeOp>(op);
      edge && !known.getInt()) {
    size_t numSources = funcEdges.getSources(edge).size();
    known.setPointerAndInt(
        numSources == 0
            ? nullptr
            : plans.getIdentity(cast<ShapedType>(edge.getType()), numSources),
        true);
  }
  if (!known.getInt() && op && table.getKind(index) == OpKind::FrameEdge)
    known.setPointerAndInt(
        plans.getIdentity(
            cast<ShapedType>(table.getFrameValue(index).getType()),
            /*numOperands=*/1),
        true);
  if (!known.getInt())
    known.setPointerAndInt(op ? plans.getFor(op) : nullptr, true);
  return known.getPointer();
}

/// Operands, then results; for an edge its sources, then the edge.
ArrayRef<unsigned> Propagation::getSlotsOf(unsigned index) {
  if (table.getInstance(index)) {
    table.getSlotsInBody(index, slotsInBody);
    return slotsInBody;
  }
  auto &[begin, end] = slotRange.at(index);
  if (begin == end) {
    begin = slotPool.size();
    Operation *op = table.getOp(index);
    OpKind kind = table.getKind(index);
    bool isFrameEdge = kind == OpKind::FrameEdge;
    if (kind == OpKind::Edge || isFrameEdge) {
      Value owner =
          isFrameEdge ? table.getFrameValue(index) : op->getOperand(0);
      for (OpOperand *source : getDataFlowOp(owner).getEdgeSources(owner))
        slotPool.push_back(table.getSlot(source->get()));
    } else if (auto edge = dyn_cast<FuncDataFlowEdgeOp>(op)) {
      for (OpOperand *source : funcEdges.getSources(edge))
        slotPool.push_back(table.getSlot(source->get()));
    } else {
      for (Value operand : op->getOperands())
        slotPool.push_back(table.getSlot(operand));
    }
    if (isFrameEdge)
      slotPool.push_back(table.getSlot(table.getFrameValue(index)));
    else
      for (Value result : op->getResults())
        slotPool.push_back(table.getSlot(result));
    end = slotPool.size();
  }
  return ArrayRef(slotPool).slice(begin, end - begin);
}

//===----------------------------------------------------------------------===//
// What happens at an op
//===----------------------------------------------------------------------===//

ArrayRef<Propagation::Change>
Propagation::getChanges(const OpPlan &plan, unsigned directionsId,
                        FactorStrategy strategy,
                        ArrayRef<TensorShardingAttr> state) {
  SmallVector<const void *, 12> key = {
      &plan,
      reinterpret_cast<const void *>(static_cast<uintptr_t>(
          directionsId * kNumStrategies + static_cast<unsigned>(strategy)))};
  for (TensorShardingAttr sharding : state)
    key.push_back(sharding.getAsOpaquePointer());
  if (auto it = known.find(key); it != known.end())
    return it->second;
  auto changes = computeChanges(plan, directionsId, strategy, state);
  ArrayRef<Change> stored = ArrayRef(changes).copy(allocator);
  known.try_emplace(ArrayRef(key).copy(allocator), stored);
  return stored;
}

MeshAttr Propagation::getMesh(TensorShardingAttr sharding) {
  MeshAttr &mesh = meshes[sharding.getMeshOrRef()];
  if (!mesh)
    mesh = sharding.getMesh(symbols);
  return mesh;
}

SmallVector<Propagation::Change>
Propagation::computeChanges(const OpPlan &plan, unsigned directionsId,
                            FactorStrategy strategy,
                            ArrayRef<TensorShardingAttr> state) {
  MeshAttr mesh;
  Attribute meshOrRef;
  for (TensorShardingAttr sharding : state) {
    MeshAttr other = sharding ? getMesh(sharding) : MeshAttr();
    if (!other || other.empty())
      continue;
    if (other.isMaximal() || (mesh && other != mesh))
      return {};
    if (!mesh)
      meshOrRef = sharding.getMeshOrRef();
    mesh = other;
  }
  if (!mesh)
    return {};

  OpShardingRuleAttr rule = plan.getRule();
  ShardingProjection projection;
  auto [operandState, resultState] =
      std::pair(state.take_front(rule.getOperandMappings().size()),
                state.drop_front(rule.getOperandMappings().size()));
  for (auto [mapping, sharding] :
       llvm::zip(rule.getOperandMappings(), operandState))
    projection.operands.push_back(
        projectSharding(sharding, mapping, rule, mesh));
  for (auto [mapping, sharding] :
       llvm::zip(rule.getResultMappings(), resultState))
    projection.results.push_back(
        projectSharding(sharding, mapping, rule, mesh));
  propagateAxes(projection,
                {rule, plan.getDirections(directionsId), plan.isElementwise(),
                 settings.isConservative && plan.isOfOp()},
                mesh, strategy);

  SmallVector<Change> changes;
  auto compose = [&](const ProjectedTensor &tensor, TensorMappingAttr mapping,
                     unsigned position) {
    if (!tensor.isExtended)
      return;
    TensorShardingAttr before = state[position];
    TensorShardingAttr sharding =
        composeSharding(tensor, mapping, rule, before, meshOrRef, mesh);
    if (sharding != before && (before || hasAxes(sharding)))
      changes.emplace_back(position, sharding);
  };
  for (auto [index, tensor] : llvm::enumerate(projection.operands))
    compose(tensor, rule.getOperandMappings()[index], index);
  for (auto [index, tensor] : llvm::enumerate(projection.results))
    compose(tensor, rule.getResultMappings()[index],
            operandState.size() + index);
  return changes;
}
