//===- ShardingTable.cpp - Ops and shardings by number --------------------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

#include "meshwright/Dialect/Sdy/Propagation/ShardingTable.h"

#include "meshwright/Dialect/Sdy/Shardings.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

using namespace mlir;
using namespace mlir::sdy;

//===----------------------------------------------------------------------===//
// Numbering and reading
//===----------------------------------------------------------------------===//

ShardingTable::ShardingTable(ModuleOp module) {
  module->walk<WalkOrder::PreOrder>([&](Operation *op) { number(op); });
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

unsigned ShardingTable::getSlot(Value value) const {
  if (auto result = dyn_cast<OpResult>(value)) {
    unsigned def = getIndex(result.getOwner());
    if (kinds[def] == OpKind::DataFlow)
      return getEdgeSlot(cast<DataFlowOpInterface>(result.getOwner()), value);
    return firstSlots[def] + result.getResultNumber();
  }
  Block *block = cast<BlockArgument>(value).getOwner();
  if (!block->isEntryBlock())
    return kNoSlot;
  Operation *parent = block->getParentOp();
  switch (kinds[getIndex(parent)]) {
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

Value ShardingTable::getValue(unsigned slot) const {
  Operation *op = ops[owners[slot]];
  unsigned number = slot - firstSlots[owners[slot]];
  if (number < op->getNumResults())
    return op->getResult(number);
  number -= op->getNumResults();
  if (auto func = dyn_cast<func::FuncOp>(op))
    return number < func.getNumArguments() && !func.isDeclaration()
               ? Value(func.getArgument(number))
               : Value();
  return cast<DataFlowOpInterface>(op).getBlockArgumentEdgeOwners()[number];
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

void ShardingTable::storeOp(Operation *op, unsigned index) {
  unsigned first = firstSlots[index];
  if (kinds[index] == OpKind::Plain) {
    auto list = ArrayRef(shardings).slice(first, op->getNumResults());
    op->setDiscardableAttr(
        StringAttr::get(op->getContext(), kShardingAttr),
        TensorShardingPerValueAttr::get(op->getContext(), list));
    return;
  }
  for (unsigned slot = first; slot != firstSlots[index + 1]; ++slot)
    if (isChanged(slot))
      setSharding(getValue(slot), shardings[slot]);
}

unsigned ShardingTable::store() {
  unsigned numChanged = 0;
  for (auto [index, op] : llvm::enumerate(ops)) {
    auto slots = llvm::seq(firstSlots[index], firstSlots[index + 1]);
    unsigned count =
        llvm::count_if(slots, [&](unsigned slot) { return isChanged(slot); });
    if (!op || count == 0)
      continue;
    numChanged += count;
    if (kinds[index] == OpKind::Function)
      storeSignature(cast<func::FuncOp>(op), firstSlots[index]);
    else
      storeOp(op, index);
  }
  stored = shardings;
  return numChanged;
}
