//===- ShardingTable.cpp - Ops and shardings by number --------------------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

#include "meshwright/Dialect/Sdy/Propagation/ShardingTable.h"

#include "meshwright/Dialect/Sdy/Shardings.h"
#include "meshwright/IR/EqualBodies.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

using namespace mlir;
using namespace mlir::sdy;

//===----------------------------------------------------------------------===//
// Numbering and reading
//===----------------------------------------------------------------------===//

ShardingTable::ShardingTable(ModuleOp module) : symbols(module), instances(1) {
  module->walk<WalkOrder::PreOrder>([&](Operation *op) {
    if (auto func = dyn_cast<func::FuncOp>(op);
        func && stablehlo::isSharedBody(func))
      return WalkResult::skip();
    if (stablehlo::isSharedBodyCall(op))
      numberInstance(cast<stablehlo::CustomCallOp>(op));
    else
      number(op);
    return WalkResult::advance();
  });
  firstSlots.push_back(owners.size());
  shardings.resize(owners.size());
  // Owners of edges are behind their ops, so all must have their numbers.
  auto name = StringAttr::get(module.getContext(), kShardingAttr);
  for (auto [index, op] : llvm::enumerate(ops))
    read(op, index, name);
  stored = shardings;
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

/// How many slots an op needs beside those of its results.
static unsigned getNumArgumentSlots(Operation *op, OpKind kind) {
  if (kind == OpKind::Function)
    return cast<func::FuncOp>(op).getNumArguments() +
           cast<func::FuncOp>(op).getNumResults();
  return kind == OpKind::DataFlow
             ? cast<DataFlowOpInterface>(op).getBlockArgumentEdgeOwners().size()
             : 0;
}

void ShardingTable::number(Operation *op) {
  OpKind kind = classify(op);
  indices.try_emplace(op, ops.size());
  firstSlots.push_back(owners.size());
  owners.resize(owners.size() + op->getNumResults() +
                    getNumArgumentSlots(op, kind),
                ops.size());
  if (op->use_empty() && isOpTriviallyDead(op))
    unused.push_back(ops.size());
  ops.push_back(op);
  kinds.push_back(kind);
  instanceOf.push_back(0);
}

ShardingTable::Body ShardingTable::makeBody(func::FuncOp func) {
  Body body;
  func.walk<WalkOrder::PreOrder>([&](Operation *op) {
    if (op == func || op == func.front().getTerminator())
      return;
    indices.try_emplace(op, body.ops.size());
    body.ops.push_back(op);
    body.kinds.push_back(classify(op));
  });
  return body;
}

void ShardingTable::numberInstance(stablehlo::CustomCallOp call) {
  auto func = symbols.lookup<func::FuncOp>(
      stablehlo::getSharedBodyName(call).getAttr());
  auto known = bodies.find(func);
  if (known == bodies.end())
    known = bodies.insert({func, makeBody(func)}).first;
  Body &body = known->second;
  unsigned instance = instances.size();
  instanceOfCall[call] = instance;
  body.instances.push_back(instance);
  instances.push_back({call, func, static_cast<unsigned>(ops.size())});
  for (Operation *op : body.ops) {
    firstSlots.push_back(owners.size());
    owners.resize(owners.size() + op->getNumResults(), ops.size());
    ops.push_back(op);
  }
  llvm::append_range(kinds, body.kinds);
  instanceOf.resize(ops.size(), instance);
}

void ShardingTable::read(Operation *op, unsigned index, StringAttr attrName) {
  unsigned slot = firstSlots[index];
  switch (kinds[index]) {
  case OpKind::Plain:
  case OpKind::Terminator: {
    auto list = dyn_cast_or_null<TensorShardingPerValueAttr>(
        op->getDiscardableAttr(attrName));
    if (list && list.size() == op->getNumResults())
      llvm::copy(list, shardings.begin() + slot);
    return;
  }
  case OpKind::Function: {
    auto func = cast<func::FuncOp>(op);
    for (unsigned arg = 0; arg < func.getNumArguments(); ++arg)
      shardings[slot++] = getArgSharding(func, arg);
    for (unsigned result = 0; result < func.getNumResults(); ++result)
      shardings[slot++] = getResultSharding(func, result);
    return;
  }
  case OpKind::DataFlow: {
    auto flow = cast<DataFlowOpInterface>(op);
    readOwners(flow.getOpResultEdgeOwners(),
               flow.getOpResultEdgeOwnerShardings());
    readOwners(llvm::to_vector_of<Value>(flow.getBlockArgumentEdgeOwners()),
               flow.getBlockArgumentEdgeOwnerShardings());
    return;
  }
  case OpKind::Edge:
  case OpKind::Other:
    for (Value result : op->getResults())
      shardings[slot++] = getSharding(result);
  }
}

/// Where there is an edge op, that has the sharding.
void ShardingTable::readOwners(ValueRange edgeOwners,
                               ArrayRef<TensorShardingAttr> list) {
  for (auto [owner, sharding] : llvm::zip(edgeOwners, list))
    if (!DataFlowEdgeOp::getFor(owner))
      shardings[getOwnSlot(owner)] = sharding;
}

//===----------------------------------------------------------------------===//
// Slots
//===----------------------------------------------------------------------===//

unsigned ShardingTable::getOwnSlot(Value value) const {
  if (auto result = dyn_cast<OpResult>(value))
    return firstSlots[getIndex(result.getOwner())] + result.getResultNumber();
  auto arg = cast<BlockArgument>(value);
  Operation *parent = arg.getOwner()->getParentOp();
  return firstSlots[getIndex(parent)] + parent->getNumResults() +
         arg.getArgNumber();
}

unsigned ShardingTable::getEdgeSlot(DataFlowOpInterface flow,
                                    Value target) const {
  Value owner = flow.getEdgeOwnerFromTarget(target);
  if (!owner)
    return kNoSlot;
  DataFlowEdgeOp edge = DataFlowEdgeOp::getFor(owner);
  return getOwnSlot(edge ? edge.getResult() : owner);
}

PlacedValue ShardingTable::resolve(PlacedValue placed) const {
  while (instances.size() != 1) {
    if (auto argument = dyn_cast<BlockArgument>(placed.value)) {
      auto [call, body, firstIndex] = instances[placed.instance];
      if (!body || argument.getOwner() != &body.front())
        break;
      placed = call.getOperand(argument.getArgNumber());
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
    if (kinds[def] == OpKind::DataFlow)
      return getEdgeSlot(cast<DataFlowOpInterface>(result.getOwner()), value);
    return firstSlots[def] + result.getResultNumber();
  }
  Block *block = cast<BlockArgument>(value).getOwner();
  if (!block->isEntryBlock())
    return kNoSlot;
  Operation *parent = block->getParentOp();
  switch (kinds[getIndex(parent, instance)]) {
  case OpKind::Function:
    return getOwnSlot(value);
  case OpKind::DataFlow:
    return getEdgeSlot(cast<DataFlowOpInterface>(parent), value);
  default:
    return kNoSlot;
  }
}

unsigned ShardingTable::getResultSlot(func::FuncOp func,
                                      unsigned result) const {
  return firstSlots[getIndex(func)] + func.getNumArguments() + result;
}

PlacedValue ShardingTable::getValue(unsigned slot) const {
  Operation *op = ops[owners[slot]];
  unsigned number = slot - firstSlots[owners[slot]];
  if (number < op->getNumResults())
    return {op->getResult(number), instanceOf[owners[slot]]};
  number -= op->getNumResults();
  if (auto func = dyn_cast<func::FuncOp>(op))
    return number < func.getNumArguments() && !func.isDeclaration()
               ? Value(func.getArgument(number))
               : Value();
  return cast<DataFlowOpInterface>(op).getBlockArgumentEdgeOwners()[number];
}

/// Where the ops of a body stood in place of its call, the edge of an argument
/// would have taken over the uses of it one by one, the first becoming the last.
void ShardingTable::forEachUse(
    PlacedValue placed,
    llvm::function_ref<void(OpOperand &, unsigned)> visit) const {
  auto [value, instance] = resolve(placed);
  auto visitInside = [&](OpOperand &use, unsigned in) {
    auto [call, body, firstIndex] = instances[in];
    if (!body || use.getOwner() != body.front().getTerminator())
      return visit(use, in);
    for (OpOperand &outer : call.getResult(use.getOperandNumber()).getUses())
      visit(outer, 0);
  };
  for (OpOperand &use : value.getUses()) {
    auto known =
        instances.size() != 1 && isa<stablehlo::CustomCallOp>(use.getOwner())
            ? instanceOfCall.find(use.getOwner())
            : instanceOfCall.end();
    if (known == instanceOfCall.end()) {
      visitInside(use, instance);
      continue;
    }
    Block &body = func::FuncOp(instances[known->second].body).front();
    auto inside =
        llvm::map_to_vector(body.getArgument(use.getOperandNumber()).getUses(),
                            [](OpOperand &nested) { return &nested; });
    for (OpOperand *nested : llvm::reverse(inside))
      visitInside(*nested, known->second);
  }
}

void ShardingTable::set(unsigned slot, TensorShardingAttr sharding) {
  shardings[slot] = sharding;
  Operation *op = ops[owners[slot]];
  if (op->getNumResults() < 2 || kinds[owners[slot]] == OpKind::DataFlow)
    return;
  unsigned first = firstSlots[owners[slot]];
  for (OpResult result : op->getResults())
    if (TensorShardingAttr &other = shardings[first + result.getResultNumber()];
        !other)
      other = TensorShardingAttr::getFullyOpenLike(result.getType(), sharding);
}

void ShardingTable::eraseOp(unsigned index) {
  Operation *root = ops[index];
  root->walk([&](Operation *op) {
    if (auto call = instanceOfCall.find(op); call != instanceOfCall.end()) {
      auto &[instance, func, firstIndex] = instances[call->second];
      Body &body = bodies.find(func)->second;
      std::fill_n(ops.begin() + firstIndex, body.ops.size(), nullptr);
      llvm::erase(body.instances, call->second);
      instanceOfCall.erase(call);
      return;
    }
    auto it = indices.find(op);
    ops[it->second] = nullptr;
    indices.erase(it);
  });
  root->erase();
}

//===----------------------------------------------------------------------===//
// Storing
//===----------------------------------------------------------------------===//

void ShardingTable::storeSignature(func::FuncOp func, unsigned firstSlot) {
  auto name = StringAttr::get(func.getContext(), kShardingAttr);
  // All dictionaries at once: setting one copies the list of all.
  auto update = [&](ArrayAttr attrs, unsigned count, unsigned slot,
                    auto setAll) {
    SmallVector<Attribute> updated;
    bool isAnyChanged = false;
    for (unsigned i = 0; i < count; ++i, ++slot) {
      auto dict = attrs ? cast<DictionaryAttr>(attrs[i])
                        : DictionaryAttr::get(func.getContext());
      if (isChanged(slot)) {
        isAnyChanged = true;
        NamedAttrList list(dict);
        list.set(name, shardings[slot]);
        dict = list.getDictionary(func.getContext());
      }
      updated.push_back(dict);
    }
    if (isAnyChanged)
      setAll(ArrayAttr::get(func.getContext(), updated));
  };
  update(func.getArgAttrsAttr(), func.getNumArguments(), firstSlot,
         [&](ArrayAttr attrs) { func.setArgAttrsAttr(attrs); });
  update(func.getResAttrsAttr(), func.getNumResults(),
         firstSlot + func.getNumArguments(),
         [&](ArrayAttr attrs) { func.setResAttrsAttr(attrs); });
}

/// Returns how many shardings that are.
unsigned ShardingTable::storeOp(Operation *op, unsigned index) {
  unsigned first = firstSlots[index];
  auto slots = llvm::seq(first, firstSlots[index + 1]);
  unsigned count =
      llvm::count_if(slots, [&](unsigned slot) { return isChanged(slot); });
  if (count == 0)
    return 0;
  if (kinds[index] == OpKind::Function) {
    storeSignature(cast<func::FuncOp>(op), first);
  } else if (kinds[index] == OpKind::Plain) {
    auto list = ArrayRef(shardings).slice(first, op->getNumResults());
    op->setDiscardableAttr(
        StringAttr::get(op->getContext(), kShardingAttr),
        TensorShardingPerValueAttr::get(op->getContext(), list));
  } else {
    for (unsigned slot : slots)
      if (isChanged(slot))
        setSharding(slot - first < op->getNumResults()
                        ? Value(op->getResult(slot - first))
                        : getValue(slot).value,
                    shardings[slot]);
  }
  return count;
}

ArrayRef<TensorShardingAttr>
ShardingTable::getShardings(unsigned instance) const {
  const auto &[call, func, firstIndex] = instances[instance];
  unsigned end = firstIndex + bodies.find(func)->second.ops.size();
  return ArrayRef(shardings).slice(firstSlots[firstIndex],
                                   firstSlots[end] - firstSlots[firstIndex]);
}

/// Instances with other shardings than the first get a copy of the body.
unsigned ShardingTable::storeBody(func::FuncOp func, const Body &body) {
  mpmd::EqualityClasses<unsigned> classes;
  for (unsigned instance : body.instances)
    classes.add(instance,
                llvm::hash_combine_range(
                    llvm::map_range(getShardings(instance),
                                    [](TensorShardingAttr sharding) {
                                      return sharding.getAsOpaquePointer();
                                    })),
                [&](unsigned first, unsigned other) {
                  return getShardings(first) == getShardings(other);
                });
  // Copies of what nothing has changed yet.
  SmallVector<func::FuncOp> copies = {func};
  while (copies.size() < classes.get().size()) {
    copies.push_back(func.clone());
    symbols.insert(copies.back());
  }
  unsigned numChanged = 0;
  for (auto [equal, copy] : llvm::zip(classes.get(), copies)) {
    unsigned index = instances[equal.front()].firstIndex;
    for (Operation *op : makeBody(copy).ops)
      numChanged += storeOp(op, index++);
    auto name = ArrayAttr::get(func.getContext(),
                               FlatSymbolRefAttr::get(copy.getSymNameAttr()));
    for (unsigned instance : equal)
      instances[instance].call.setCalledComputationsAttr(name);
  }
  return numChanged;
}

unsigned ShardingTable::store() {
  unsigned numChanged = 0;
  for (auto [index, op] : llvm::enumerate(ops))
    if (op && instanceOf[index] == 0)
      numChanged += storeOp(op, index);
  for (auto &[func, body] : bodies)
    numChanged += storeBody(func, body);
  stored = shardings;
  return numChanged;
}
