//===- BlockTemplate.cpp --------------------------------------------------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

#include "meshwright/Import/Inline/BlockTemplate.h"
#include "mlir/IR/IRMapping.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SmallVectorExtras.h"

using namespace mlir;
using namespace mlir::mpmd;

BlockTemplate::BlockTemplate(Block &block)
    : block(&block), terminator(block.getTerminator()) {
  addBlock(block, /*isNested=*/false);
}

unsigned BlockTemplate::addLoc(Location loc, bool isNested) {
  auto [it, isNew] = locNumbers.try_emplace({loc, isNested}, locs.size());
  if (isNew)
    locs.push_back({loc, isNested});
  return it->second;
}

void BlockTemplate::addBlock(Block &block, bool isNested) {
  for (BlockArgument argument : block.getArguments()) {
    numbers[argument] = numValues++;
    if (isNested)
      argumentLocs.push_back(addLoc(argument.getLoc(), isNested));
  }
  for (Operation &op : block)
    addOp(op, isNested);
}

void BlockTemplate::addOp(Operation &op, bool isNested) {
  for (Value operand : op.getOperands()) {
    auto it = numbers.find(operand);
    isStraight &= it != numbers.end();
    operands.push_back(it == numbers.end() ? 0 : it->second);
  }
  if (&op == terminator)
    return;
  entries.push_back({&op, addLoc(op.getLoc(), isNested), isNested});
  for (Value result : op.getResults())
    numbers[result] = numValues++;
  isStraight &= op.getNumSuccessors() == 0;
  for (Region &region : op.getRegions()) {
    isStraight &= region.empty() || region.hasOneBlock();
    for (Block &nested : region)
      addBlock(nested, /*isNested=*/true);
  }
}

//===----------------------------------------------------------------------===//
// Copies
//===----------------------------------------------------------------------===//

/// Goes through the entries of a template once.
struct BlockTemplate::Copier {
  Copier(const BlockTemplate &original, ArrayRef<Location> newLocs,
         function_ref<void(Operation *)> onCopy)
      : original(original), newLocs(newLocs), onCopy(onCopy),
        entry(original.entries.begin()), number(original.operands.begin()),
        argumentLoc(original.argumentLocs.begin()) {
    values.reserve(original.numValues);
  }

  /// The values of the next `count` operands, valid until the next call.
  ArrayRef<Value> takeOperands(unsigned count) {
    taken.clear();
    for (unsigned i = 0; i < count; ++i)
      taken.push_back(values[*number++]);
    return taken;
  }

  void copyOp(Block &dest, Block::iterator position);
  void copyRegion(Region &source, Region &dest);

  const BlockTemplate &original;
  ArrayRef<Location> newLocs;
  function_ref<void(Operation *)> onCopy;
  SmallVector<Value, 0> values;
  const Entry *entry;
  const unsigned *number;
  const unsigned *argumentLoc;
  SmallVector<Value> taken;
};

void BlockTemplate::Copier::copyOp(Block &dest, Block::iterator position) {
  const Entry &source = *entry++;
  Operation *op = source.op;
  Operation *copy = Operation::create(
      newLocs[source.loc], op->getName(), op->getResultTypes(),
      takeOperands(op->getNumOperands()), op->getRawDictionaryAttrs(),
      op->getPropertiesStorage(), BlockRange(), op->getNumRegions());
  dest.getOperations().insert(position, copy);
  llvm::append_range(values, copy->getResults());
  for (auto [from, to] : llvm::zip_equal(op->getRegions(), copy->getRegions()))
    copyRegion(from, to);
  onCopy(copy);
}

void BlockTemplate::Copier::copyRegion(Region &source, Region &dest) {
  if (source.empty())
    return;
  Block &block = dest.emplaceBlock();
  for (BlockArgument argument : source.getArguments())
    values.push_back(
        block.addArgument(argument.getType(), newLocs[*argumentLoc++]));
  for (auto it = source.front().begin(); it != source.front().end(); ++it)
    copyOp(block, block.end());
}

SmallVector<Value>
BlockTemplate::copyBefore(Block &dest, Block::iterator position,
                          ValueRange arguments, ArrayRef<Location> newLocs,
                          function_ref<void(Operation *)> onCopy) const {
  if (!isStraight)
    return cloneBefore(dest, position, arguments, newLocs, onCopy);
  Copier copier(*this, newLocs, onCopy);
  llvm::append_range(copier.values, arguments);
  while (copier.entry != entries.end())
    copier.copyOp(dest, position);
  return llvm::to_vector(copier.takeOperands(terminator->getNumOperands()));
}

SmallVector<Value>
BlockTemplate::cloneBefore(Block &dest, Block::iterator position,
                           ValueRange arguments, ArrayRef<Location> newLocs,
                           function_ref<void(Operation *)> onCopy) const {
  auto getNewLoc = [&](Location loc, bool isNested) {
    return newLocs[locNumbers.at({loc, isNested})];
  };
  IRMapping mapping;
  mapping.map(block->getArguments(), arguments);
  for (const Entry &entry : entries) {
    if (entry.isNested)
      continue;
    Operation *copy = entry.op->clone(mapping);
    dest.getOperations().insert(position, copy);
    copy->walk([&](Operation *nested) {
      nested->setLoc(getNewLoc(nested->getLoc(), nested != copy));
      for (Region &region : nested->getRegions())
        for (Block &nestedBlock : region)
          for (BlockArgument argument : nestedBlock.getArguments())
            argument.setLoc(getNewLoc(argument.getLoc(), /*isNested=*/true));
      onCopy(nested);
    });
  }
  return llvm::map_to_vector(terminator->getOperands(), [&](Value result) {
    return mapping.lookupOrDefault(result);
  });
}
