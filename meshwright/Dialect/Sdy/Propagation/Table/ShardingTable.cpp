//===- ShardingTable.cpp - Ops and shardings by number --------------------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

#include "meshwright/Dialect/Sdy/Propagation/Table/ShardingTable.h"

#include "meshwright/Dialect/Sdy/Shardings.h"
#include "meshwright/Dialect/Sdy/Transforms/ShardingWalk.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

using namespace mlir;
using namespace mlir::sdy;

//===----------------------------------------------------------------------===//
// Numbering and reading
//===----------------------------------------------------------------------===//

/// Goes through what has numbers in a module: ops, and calls of shared bodies,
/// but not the bodies.
template <typename OnOp, typename OnCall>
static void walkNumbered(ModuleOp module, OnOp onOp, OnCall onCall) {
  walkOwnOps(module, [&](Operation *op) {
    if (auto func = dyn_cast<func::FuncOp>(op); func && sdy::isSharedBody(func))
      return WalkResult::skip();
    if (sdy::isSharedBodyCall(op))
      onCall(cast<stablehlo::CustomCallOp>(op));
    else
      onOp(op);
    return WalkResult::advance();
  });
}

ShardingTable::ShardingTable(ModuleOp module) : symbols(module), instances(1) {
  reserve(module);
  walkNumbered(
      module, [&](Operation *op) { number(op); },
      [&](stablehlo::CustomCallOp call) { numberInstance(call); });
  shardings.resize(numSlots);
  for (Instance &instance : MutableArrayRef(instances).drop_front()) {
    instance.firstArgument = argumentSlots.size();
    for (Value operand : instance.call.getOperands())
      argumentSlots.push_back(getSlot(operand));
  }
  // Owners of edges are after their ops, so all must have their numbers.
  auto name = StringAttr::get(module.getContext(), kShardingAttr);
  for (auto [number, run] : llvm::enumerate(runs)) {
    unsigned end =
        number + 1 == runs.size() ? numOps : runs[number + 1].firstIndex;
    if (run.instance == 0)
      for (unsigned index = run.firstIndex; index < end; ++index)
        read(ownOp(index), index, name);
  }
  for (auto &[func, body] : bodies)
    for (unsigned instance : body.instances)
      for (unsigned local : body.annotated)
        read(body.ops[local], instances[instance].firstIndex + local, name);
  forEachSharding([&](unsigned slot, TensorShardingAttr sharding) {
    initial[slot] = sharding;
  });
}

OpKind ShardingTable::classify(Operation *op) {
  auto [known, isNew] = kindOfName.try_emplace(op->getName(), OpKind::Plain);
  if (!isNew)
    return known->second;
  if (isa<func::FuncOp>(op))
    return known->second = OpKind::Function;
  if (isa<DataFlowEdgeOp>(op))
    return known->second = OpKind::Edge;
  if (isa<DataFlowOpInterface>(op))
    return known->second = OpKind::DataFlow;
  if (op->hasTrait<OpTrait::IsTerminator>())
    return known->second = OpKind::Terminator;
  if (isa_and_nonnull<SdyDialect, func::FuncDialect>(op->getDialect()))
    return known->second = OpKind::Other;
  return OpKind::Plain;
}

unsigned ShardingTable::getNumArgumentSlots(Operation *op, OpKind kind) {
  if (kind == OpKind::Function)
    return cast<func::FuncOp>(op).getNumArguments() +
           cast<func::FuncOp>(op).getNumResults();
  return kind == OpKind::DataFlow || kind == OpKind::Frame
             ? cast<DataFlowOpInterface>(op).getBlockArgumentEdgeOwners().size()
             : 0;
}

void ShardingTable::beginRun(Run run) {
  unsigned number = runs.size();
  runs.push_back(run);
  // Stretches that begin in the runs before have theirs.
  auto fill = [&](std::vector<unsigned> &list, unsigned first) {
    unsigned count = (first + kStretch - 1) / kStretch;
    if (list.size() < count)
      list.resize(count, number == 0 ? 0 : number - 1);
  };
  fill(runsOfOps, run.firstIndex);
  fill(runsOfSlots, run.firstSlot);
}

const ShardingTable::Run &ShardingTable::getRun(ArrayRef<unsigned> runOfStretch,
                                                unsigned Run::*first,
                                                unsigned position) const {
  unsigned stretch = position / kStretch;
  unsigned number =
      stretch < runOfStretch.size() ? runOfStretch[stretch] : runs.size() - 1;
  while (number + 1 < runs.size() && runs[number + 1].*first <= position)
    ++number;
  return runs[number];
}

const ShardingTable::Run &ShardingTable::getRunOfOp(unsigned index) const {
  return getRun(runsOfOps, &Run::firstIndex, index);
}

const ShardingTable::Run &ShardingTable::getRunOfSlot(unsigned slot) const {
  return getRun(runsOfSlots, &Run::firstSlot, slot);
}

Operation *ShardingTable::getOp(unsigned index) const {
  const Run &run = getRunOfOp(index);
  unsigned local = index - run.firstIndex;
  if (run.instance == 0)
    return ops[run.firstOwn + local];
  return instances[run.instance].isErased ? nullptr : getBodyOf(run).ops[local];
}

OpKind ShardingTable::getKind(unsigned index) const {
  const Run &run = getRunOfOp(index);
  unsigned local = index - run.firstIndex;
  return run.instance == 0 ? kinds[run.firstOwn + local]
                           : getBodyOf(run).kinds[local];
}

unsigned ShardingTable::getFirstSlot(unsigned index) const {
  const Run &run = getRunOfOp(index);
  unsigned local = index - run.firstIndex;
  return run.instance == 0 ? firstSlots[run.firstOwn + local]
                           : run.firstSlot + getBodyOf(run).firstSlots[local];
}

llvm::iota_range<unsigned> ShardingTable::getSlotsOf(unsigned index) const {
  unsigned first = getFirstSlot(index);
  OpKind kind = getKind(index);
  if (kind == OpKind::FrameEdge)
    return llvm::seq(first, first);
  Operation *op = getOp(index);
  return llvm::seq(first,
                   first + op->getNumResults() + getNumArgumentSlots(op, kind));
}

unsigned ShardingTable::getOwner(unsigned slot) const {
  const Run &run = getRunOfSlot(slot);
  unsigned local = slot - run.firstSlot;
  return run.instance == 0 ? owners[run.firstOwnSlot + local]
                           : run.firstIndex + getBodyOf(run).owners[local];
}

void ShardingTable::number(Operation *op) {
  if (runs.empty() || runs.back().instance != 0)
    beginRun({numOps, numSlots, /*instance=*/0,
              static_cast<unsigned>(ops.size()),
              static_cast<unsigned>(owners.size())});
  OpKind kind = classifyOwn(op);
  unsigned firstSlot = numSlots;
  size_t firstOwnSlot = owners.size();
  unsigned count = op->getNumResults() + getNumArgumentSlots(op, kind);
  indices.try_emplace(op, numOps);
  owners.resize(firstOwnSlot + count, numOps);
  if (kind != OpKind::Frame && op->use_empty() && isOpTriviallyDead(op))
    unused.push_back(numOps);
  if (kind == OpKind::DataFlow)
    dataFlowOps.push_back(numOps);
  add(op, kind, firstSlot);
  numSlots += count;
  if (kind == OpKind::Frame) {
    currentFrame = {op, firstSlot, firstOwnSlot};
    addFrameEdges(op->getNumResults(), count - op->getNumResults());
  } else if (currentFrame.op && op->getParentOp() == currentFrame.op) {
    // The terminator: what else is there are calls.
    addFrameEdges(0, currentFrame.op->getNumResults());
    currentFrame = {};
  }
}

void ShardingTable::add(Operation *op, OpKind kind, unsigned firstSlot) {
  firstSlots.push_back(firstSlot);
  ops.push_back(op);
  kinds.push_back(kind);
  ++numOps;
}

/// Lists that grow by themselves take twice the memory, for a time thrice.
void ShardingTable::reserve(ModuleOp module) {
  size_t numOwn = 0, numOwnSlots = 0, numCalls = 0;
  walkNumbered(
      module,
      [&](Operation *op) {
        OpKind kind = classifyOwn(op);
        unsigned count = op->getNumResults() + getNumArgumentSlots(op, kind);
        numOwn += kind == OpKind::Frame ? count + 1 : 1;
        numOwnSlots += count;
      },
      [&](stablehlo::CustomCallOp) { ++numCalls; });
  indices.reserve(numOwn);
  ops.reserve(numOwn);
  kinds.reserve(numOwn);
  firstSlots.reserve(numOwn);
  owners.reserve(numOwnSlots);
  runs.reserve(2 * numCalls + 1);
}

void ShardingTable::read(Operation *op, unsigned index, StringAttr attrName) {
  unsigned slot = getFirstSlot(index);
  auto set = [&](TensorShardingAttr sharding) {
    if (sharding)
      shardings.at(slot) = sharding;
    ++slot;
  };
  switch (getKind(index)) {
  case OpKind::Plain:
  case OpKind::Terminator: {
    auto list = dyn_cast_or_null<TensorShardingPerValueAttr>(
        op->getDiscardableAttr(attrName));
    if (list && list.size() == op->getNumResults())
      llvm::for_each(list, set);
    return;
  }
  case OpKind::Function: {
    auto func = cast<func::FuncOp>(op);
    for (unsigned arg = 0; arg < func.getNumArguments(); ++arg)
      set(getArgSharding(func, arg));
    for (unsigned result = 0; result < func.getNumResults(); ++result)
      set(getResultSharding(func, result));
    return;
  }
  case OpKind::DataFlow: {
    auto flow = cast<DataFlowOpInterface>(op);
    unsigned instance = getInstance(index);
    readOwners(flow.getOpResultEdgeOwners(),
               flow.getOpResultEdgeOwnerShardings(), instance);
    readOwners(llvm::to_vector_of<Value>(flow.getBlockArgumentEdgeOwners()),
               flow.getBlockArgumentEdgeOwnerShardings(), instance);
    return;
  }
  case OpKind::Frame: {
    auto frame = cast<DataFlowOpInterface>(op);
    auto readAll = [&](ArrayRef<TensorShardingAttr> list, unsigned first) {
      for (auto [i, sharding] : llvm::enumerate(list))
        if (sharding)
          shardings.at(first + i) = sharding;
    };
    readAll(frame.getOpResultEdgeOwnerShardings(), slot);
    readAll(frame.getBlockArgumentEdgeOwnerShardings(),
            slot + op->getNumResults());
    return;
  }
  case OpKind::FrameEdge:
    return;
  case OpKind::Edge:
  case OpKind::Other:
    for (Value result : op->getResults())
      set(getSharding(result));
  }
}

/// Where there is an edge op, that has the sharding.
void ShardingTable::readOwners(ValueRange edgeOwners,
                               ArrayRef<TensorShardingAttr> list,
                               unsigned instance) {
  for (auto [owner, sharding] : llvm::zip(edgeOwners, list))
    if (sharding && !DataFlowEdgeOp::getFor(owner))
      shardings.at(getOwnSlot({owner, instance})) = sharding;
}

//===----------------------------------------------------------------------===//
// Slots
//===----------------------------------------------------------------------===//

unsigned ShardingTable::getOwnSlot(PlacedValue placed) const {
  auto [value, instance] = placed;
  if (auto result = dyn_cast<OpResult>(value))
    return getFirstSlot(getIndex(result.getOwner(), instance)) +
           result.getResultNumber();
  auto arg = cast<BlockArgument>(value);
  Operation *parent = arg.getOwner()->getParentOp();
  return getFirstSlot(getIndex(parent, instance)) + parent->getNumResults() +
         arg.getArgNumber();
}

unsigned ShardingTable::getEdgeSlot(DataFlowOpInterface flow,
                                    PlacedValue target) const {
  Value owner = flow.getEdgeOwnerFromTarget(target.value);
  if (!owner)
    return kNoSlot;
  DataFlowEdgeOp edge = DataFlowEdgeOp::getFor(owner);
  return getOwnSlot({edge ? edge.getResult() : owner, target.instance});
}

PlacedValue ShardingTable::resolve(PlacedValue placed) const {
  while (instances.size() != 1) {
    if (auto argument = dyn_cast<BlockArgument>(placed.value)) {
      Instance in = instances[placed.instance];
      if (!in.body || argument.getOwner() != &in.body.front())
        break;
      placed = in.call.getOperand(argument.getArgNumber());
      continue;
    }
    auto result = cast<OpResult>(placed.value);
    if (!isa<stablehlo::CustomCallOp>(result.getOwner()))
      break;
    auto known = instanceOfCall.find(result.getOwner());
    if (known == instanceOfCall.end())
      break;
    func::FuncOp body = instances[known->second].body;
    placed = {
        body.front().getTerminator()->getOperand(result.getResultNumber()),
        known->second};
  }
  return placed;
}

unsigned ShardingTable::getSlot(PlacedValue placed) const {
  auto [value, instance] = resolve(placed);
  if (auto result = dyn_cast<OpResult>(value)) {
    unsigned def = getIndex(result.getOwner(), instance);
    OpKind kind = getKind(def);
    if (kind == OpKind::DataFlow)
      return getEdgeSlot(cast<DataFlowOpInterface>(result.getOwner()),
                         {value, instance});
    return getFirstSlot(def) + result.getResultNumber();
  }
  Block *block = cast<BlockArgument>(value).getOwner();
  if (!block->isEntryBlock())
    return kNoSlot;
  Operation *parent = block->getParentOp();
  switch (getKind(getIndex(parent, instance))) {
  case OpKind::Function:
    return getOwnSlot(value);
  case OpKind::DataFlow:
    return getEdgeSlot(cast<DataFlowOpInterface>(parent), {value, instance});
  case OpKind::Frame:
    return getOwnSlot(value);
  default:
    return kNoSlot;
  }
}

unsigned ShardingTable::getResultSlot(func::FuncOp func,
                                      unsigned result) const {
  return getFirstSlot(getIndex(func)) + func.getNumArguments() + result;
}

PlacedValue ShardingTable::getValue(unsigned slot) const {
  unsigned owner = getOwner(slot);
  Operation *op = getOp(owner);
  if (!op)
    return Value();
  if (getKind(owner) == OpKind::FrameEdge)
    owner = getIndex(op);
  unsigned number = slot - getFirstSlot(owner);
  if (number < op->getNumResults())
    return {op->getResult(number), getInstance(owner)};
  number -= op->getNumResults();
  if (auto func = dyn_cast<func::FuncOp>(op))
    return number < func.getNumArguments() && !func.isDeclaration()
               ? Value(func.getArgument(number))
               : Value();
  return {cast<DataFlowOpInterface>(op).getBlockArgumentEdgeOwners()[number],
          getInstance(owner)};
}

/// Where the ops of a body were in place of its call, the edge of an argument
/// would have taken over the uses of it one by one, the first becoming the last.
void ShardingTable::forEachUse(
    PlacedValue placed,
    llvm::function_ref<void(OpOperand &, unsigned)> visit) const {
  PlacedValue resolved = resolve(placed);
  Value value = resolved.value;
  auto visitInside = [&](OpOperand &use, unsigned in) {
    Instance user = instances[in];
    if (!user.body || use.getOwner() != user.body.front().getTerminator())
      return visit(use, in);
    for (OpOperand &outer :
         user.call.getResult(use.getOperandNumber()).getUses())
      visit(outer, 0);
  };
  auto visitUse = [&](OpOperand &use) {
    auto known =
        instances.size() != 1 && isa<stablehlo::CustomCallOp>(use.getOwner())
            ? instanceOfCall.find(use.getOwner())
            : instanceOfCall.end();
    if (known == instanceOfCall.end())
      return visitInside(use, resolved.instance);
    Block &body = func::FuncOp(instances[known->second].body).front();
    auto inside =
        llvm::map_to_vector(body.getArgument(use.getOperandNumber()).getUses(),
                            [](OpOperand &nested) { return &nested; });
    for (OpOperand *nested : llvm::reverse(inside))
      visitInside(*nested, known->second);
  };
  if (!isFrameValue(resolved)) {
    llvm::for_each(value.getUses(), visitUse);
    return;
  }
  auto uses =
      llvm::map_to_vector(value.getUses(), [](OpOperand &use) { return &use; });
  for (OpOperand *use : llvm::reverse(uses))
    visitUse(*use);
}

void ShardingTable::set(unsigned slot, TensorShardingAttr sharding) {
  shardings.at(slot) = sharding;
  unsigned owner = getOwner(slot);
  Operation *op = getOp(owner);
  OpKind kind = getKind(owner);
  if (op->getNumResults() < 2 || kind == OpKind::DataFlow ||
      kind == OpKind::FrameEdge)
    return;
  unsigned first = getFirstSlot(owner);
  for (OpResult result : op->getResults())
    if (TensorShardingAttr &other =
            shardings.at(first + result.getResultNumber());
        !other)
      other = TensorShardingAttr::getFullyOpenLike(result.getType(), sharding);
}

void ShardingTable::eraseOp(unsigned index) {
  Operation *root = getOp(index);
  root->walk([&](Operation *op) {
    if (auto call = instanceOfCall.find(op); call != instanceOfCall.end()) {
      Instance &instance = instances[call->second];
      Body &body = (bodies.begin() + instance.number)->second;
      instance.isErased = true;
      llvm::erase(body.instances, call->second);
      instanceOfCall.erase(call);
      return;
    }
    auto it = indices.find(op);
    ownOp(it->second) = nullptr;
    indices.erase(it);
  });
  root->erase();
}
