//===- ProgramState.cpp - Whether a pass has changed anything -------------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

#include "meshwright/Inspection/ProgramState.h"
#include "mlir/IR/Block.h"

using namespace mlir;

/// Which block of which op it is, and its arguments.
static llvm::hash_code hashBlock(Block &block) {
  llvm::hash_code hash = llvm::hash_value(&block);
  for (BlockArgument argument : block.getArguments())
    hash = llvm::hash_combine(hash, argument.getType().getAsOpaquePointer(),
                              argument.getLoc().getAsOpaquePointer());
  return hash;
}

/// Attributes, types, locations and names are unique in a context, and ops and values
/// stay where they are while they live: their addresses tell all apart.
static llvm::hash_code hashOp(Operation &op) {
  llvm::hash_code hash =
      llvm::hash_combine(&op, op.getName().getAsOpaquePointer(), op.getBlock(),
                         op.getRawDictionaryAttrs().getAsOpaquePointer(),
                         op.hashProperties(), op.getLoc().getAsOpaquePointer());
  for (Value operand : op.getOperands())
    hash = llvm::hash_combine(hash, operand.getAsOpaquePointer());
  for (Type type : op.getResultTypes())
    hash = llvm::hash_combine(hash, type.getAsOpaquePointer());
  for (Block *successor : op.getSuccessors())
    hash = llvm::hash_combine(hash, successor);
  for (Region &region : op.getRegions())
    for (Block &block : region)
      hash = llvm::hash_combine(hash, hashBlock(block));
  return hash;
}

llvm::hash_code meshwright::hashState(Operation *root) {
  llvm::hash_code hash = 0;
  root->walk<WalkOrder::PreOrder>(
      [&](Operation *op) { hash = llvm::hash_combine(hash, hashOp(*op)); });
  return hash;
}
