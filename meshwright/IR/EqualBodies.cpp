//===- EqualBodies.cpp - Bodies that compute the same ---------------------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

#include "meshwright/IR/EqualBodies.h"
#include "mlir/IR/Operation.h"
#include "mlir/IR/OperationSupport.h"
#include "llvm/ADT/DenseMap.h"

using namespace mlir;

llvm::hash_code mpmd::hashBody(Region &body) {
  llvm::DenseMap<Value, unsigned> numbers;
  llvm::hash_code hash(0);
  auto addArguments = [&](Region &region) {
    for (BlockArgument arg : region.getArguments()) {
      numbers.try_emplace(arg, numbers.size());
      hash = llvm::hash_combine(hash, arg.getType());
    }
  };
  addArguments(body);
  body.walk<WalkOrder::PreOrder>([&](Operation *op) {
    auto hashOperand = [&](Value operand) {
      return llvm::hash_value(numbers.lookup(operand));
    };
    hash = llvm::hash_combine(hash, OperationEquivalence::computeHash(
                                        op, hashOperand,
                                        OperationEquivalence::ignoreHashValue,
                                        OperationEquivalence::IgnoreLocations));
    for (Value result : op->getResults())
      numbers.try_emplace(result, numbers.size());
    for (Region &region : op->getRegions())
      if (!region.empty())
        addArguments(region);
  });
  return hash;
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
