//===- Substitutes.cpp - What to read instead -----------------------------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

#include "Substitutes.h"
#include "meshwright/Dialect/Mpmd/MpmdDialect.h"
#include "meshwright/Dialect/StableHLO/StablehloDialect.h"
#include "mlir/IR/SymbolTable.h"

using namespace mlir;
using namespace meshwright;

Substitutes::Substitutes(ModuleOp module) {
  SymbolTableCollection tables;
  SymbolUserMap users(tables, module);
  for (auto func : module.getOps<func::FuncOp>())
    if (!func.isExternal() && func.isPublic() && users.getUsers(func).empty())
      entries.push_back(func);
  entrySet.insert_range(entries);
}

Value meshwright::makeZeros(OpBuilder &builder, Location loc, Type type) {
  auto tensor = dyn_cast<RankedTensorType>(type);
  if (!tensor || !tensor.hasStaticShape() ||
      !tensor.getElementType().isIntOrFloat())
    return {};
  TypedAttr zeros = builder.getZeroAttr(tensor);
  if (!zeros)
    return {};
  return stablehlo::ConstantOp::create(builder, loc, cast<ElementsAttr>(zeros));
}

bool meshwright::isZeros(Operation *op) {
  auto constant = dyn_cast<stablehlo::ConstantOp>(op);
  return constant && constant.getValue() ==
                         Builder(op).getZeroAttr(constant.getValue().getType());
}

template <typename Range>
static Value findOfType(const Range &values, Type type) {
  auto it = llvm::find_if(values,
                          [&](Value value) { return value.getType() == type; });
  return it == values.end() ? Value() : Value(*it);
}

/// The type of what a region's op has to be given for an argument of `type`, or
/// null if it is given nothing.
static Type getOperandType(Operation *op, Type type) {
  if (isa<mpmd::NamedComputationOp>(op))
    return type;
  auto fragment = dyn_cast<mpmd::FragmentOp>(op);
  auto tensor = dyn_cast<RankedTensorType>(type);
  if (!fragment || !tensor || fragment.getInShardingsAttr())
    return {};
  return mpmd::MeshTensorType::get(op->getContext(), fragment.getMeshName(),
                                   tensor);
}

Value Substitutes::addArgument(Block *block, Type type, Location loc) {
  Operation *op = block->getParentOp();
  if (isEntry(op)) {
    auto func = cast<func::FuncOp>(op);
    unsigned index = func.getNumArguments();
    if (failed(func.insertArgument(index, type, /*argAttrs=*/{}, loc)))
      return {};
    return func.getArgument(index);
  }
  Type operandType = getOperandType(op, type);
  if (!operandType)
    return {};
  Value operand = findOrAddArgument(op->getBlock(), operandType, loc);
  if (!operand)
    return {};
  op->insertOperands(op->getNumOperands(), operand);
  return block->addArgument(type, loc);
}

Value Substitutes::findOrAddArgument(Block *block, Type type, Location loc) {
  Value argument = findOfType(block->getArguments(), type);
  return argument ? argument : addArgument(block, type, loc);
}

Value Substitutes::find(OpResult result, bool addsArguments) {
  Operation *op = result.getOwner();
  Type type = result.getType();
  // In a graph an operation may read itself.
  auto others = llvm::make_filter_range(op->getOperands(), [&](Value operand) {
    return operand.getDefiningOp() != op;
  });
  if (Value operand = findOfType(others, type))
    return operand;
  if (addsArguments)
    if (Value argument =
            findOrAddArgument(op->getBlock(), type, result.getLoc()))
      return argument;
  OpBuilder builder(op);
  return makeZeros(builder, result.getLoc(), type);
}

BitVector meshwright::replaceArguments(Block &block, const BitVector &taken) {
  BitVector unread(taken.size());
  for (unsigned index : taken.set_bits()) {
    BlockArgument argument = block.getArgument(index);
    auto it = llvm::find_if(block.getArguments(), [&](BlockArgument other) {
      return !taken.test(other.getArgNumber()) &&
             other.getType() == argument.getType();
    });
    if (it != block.getArguments().end())
      argument.replaceAllUsesWith(*it);
    if (argument.use_empty())
      unread.set(index);
  }
  return unread;
}
