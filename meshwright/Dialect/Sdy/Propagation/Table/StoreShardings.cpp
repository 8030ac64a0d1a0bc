//===- StoreShardings.cpp - Shardings go back into the program ------------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

#include "meshwright/Dialect/Sdy/Propagation/Table/ShardingTable.h"
#include "meshwright/Dialect/Sdy/Shardings.h"
#include "meshwright/IR/EqualBodies.h"

using namespace mlir;
using namespace mlir::sdy;

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
        list.set(name, get(slot));
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
  unsigned first = getFirstSlot(index);
  auto slots = getSlotsOf(index);
  unsigned count =
      llvm::count_if(slots, [&](unsigned slot) { return isChanged(slot); });
  OpKind kind = getKind(index);
  if (kind == OpKind::Frame)
    storeFrame(cast<DataFlowOpInterface>(op), first);
  if (count == 0 || kind == OpKind::Frame)
    return count;
  if (kind == OpKind::Function) {
    storeSignature(cast<func::FuncOp>(op), first);
  } else if (kind == OpKind::Plain) {
    auto list =
        llvm::map_to_vector(slots, [&](unsigned slot) { return get(slot); });
    op->setDiscardableAttr(
        StringAttr::get(op->getContext(), kShardingAttr),
        TensorShardingPerValueAttr::get(op->getContext(), list));
  } else {
    for (unsigned slot : slots)
      if (isChanged(slot))
        setSharding(slot - first < op->getNumResults()
                        ? Value(op->getResult(slot - first))
                        : getValue(slot).value,
                    get(slot));
  }
  return count;
}

/// Instances with other shardings than the first get a copy of the body.
unsigned ShardingTable::storeBody(func::FuncOp func, const Body &body) {
  mpmd::EqualityClasses<unsigned> classes;
  auto getShardings = [&](unsigned instance) {
    unsigned first = instances[instance].firstSlot;
    return llvm::map_range(
        llvm::seq(first, first + body.numSlots),
        [&](unsigned slot) { return get(slot).getAsOpaquePointer(); });
  };
  for (unsigned instance : body.instances)
    classes.add(instance, llvm::hash_combine_range(getShardings(instance)),
                [&](unsigned first, unsigned other) {
                  return llvm::equal(getShardings(first), getShardings(other));
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
  for (auto [number, run] : llvm::enumerate(runs)) {
    unsigned end =
        number + 1 == runs.size() ? numOps : runs[number + 1].firstIndex;
    if (run.instance == 0)
      for (unsigned index = run.firstIndex; index < end; ++index)
        if (Operation *op = ownOp(index))
          numChanged += storeOp(op, index);
  }
  for (auto &[func, body] : bodies)
    numChanged += storeBody(func, body);
  return numChanged;
}
