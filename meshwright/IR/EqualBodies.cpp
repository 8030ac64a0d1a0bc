//===- EqualBodies.cpp - Bodies that compute the same ---------------------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

#include "meshwright/IR/EqualBodies.h"
#include "mlir/IR/Operation.h"
#include "mlir/IR/OperationSupport.h"
#include "mlir/IR/Threading.h"
#include "llvm/ADT/DenseMap.h"

using namespace mlir;

/// Which argument or result of which kind of op it is. Numbers for all values would take
/// a table as large as the body, to tell bodies apart that a comparison tells apart, too.
static llvm::hash_code hashOperand(Value operand) {
  if (auto arg = dyn_cast<BlockArgument>(operand))
    return llvm::hash_value(arg.getArgNumber());
  auto result = cast<OpResult>(operand);
  return llvm::hash_combine(result.getOwner()->getName(),
                            result.getResultNumber());
}

llvm::hash_code mpmd::hashBody(Region &body) {
  llvm::hash_code hash(0);
  auto addArguments = [&](Region &region) {
    for (BlockArgument arg : region.getArguments())
      hash = llvm::hash_combine(hash, arg.getType());
  };
  addArguments(body);
  body.walk<WalkOrder::PreOrder>([&](Operation *op) {
    hash = llvm::hash_combine(hash, OperationEquivalence::computeHash(
                                        op, hashOperand,
                                        OperationEquivalence::ignoreHashValue,
                                        OperationEquivalence::IgnoreLocations));
    for (Region &region : op->getRegions())
      if (!region.empty())
        addArguments(region);
  });
  return hash;
}

SmallVector<llvm::hash_code> mpmd::hashBodies(ArrayRef<Region *> bodies) {
  SmallVector<llvm::hash_code> hashes(bodies.size(), llvm::hash_code(0));
  if (!bodies.empty())
    parallelFor(bodies.front()->getContext(), 0, bodies.size(),
                [&](size_t i) { hashes[i] = hashBody(*bodies[i]); });
  return hashes;
}

bool mpmd::areEqualBodies(Region &a, Region &b) {
  llvm::DenseMap<Value, Value> counterparts;
  return OperationEquivalence::isRegionEquivalentTo(
      &a, &b,
      [&](Value valueA, Value valueB) {
        return success(counterparts.lookup(valueA) == valueB);
      },
      [&](Value valueA, Value valueB) { counterparts[valueA] = valueB; },
      OperationEquivalence::IgnoreLocations);
}
