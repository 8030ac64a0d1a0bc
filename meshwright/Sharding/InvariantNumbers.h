//===- InvariantNumbers.h - Equal values from the inputs alone --*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_SHARDING_INVARIANTNUMBERS_H
#define MESHWRIGHT_SHARDING_INVARIANTNUMBERS_H

#include "meshwright/Dialect/Mpmd/MpmdDialect.h"
#include "meshwright/IR/EqualBodies.h"
#include "llvm/ADT/DenseMap.h"
#include <map>
#include <optional>

namespace mlir::mpmd {

/// What an op reads: its operands, and what its bodies read from around them.
SmallVector<Value> getReadValues(Operation *op);

/// Whether an op does nothing but compute, with all that is in its bodies. What it
/// needs not be is speculatable: fragments run their loops to the end anyway.
bool onlyComputes(Operation *op);

/// Numbers of values of which equal ones come from the same inputs by the same
/// operations.
class InvariantNumbers {
public:
  explicit InvariantNumbers(func::FuncOp func);

  /// The number of a value that comes from the program's inputs alone; none for
  /// others and for what comes from constants alone.
  std::optional<unsigned> getNumber(Value value) const {
    auto it = numbers.find(value);
    return it != numbers.end() && isFromInputs[it->second]
               ? std::optional(it->second)
               : std::nullopt;
  }
  /// In how many fragments an op computes a value with the number of `value`.
  unsigned countFragments(Value value) const {
    return numFragments.lookup(numbers.lookup(value));
  }
  /// The first value with the number of `value`: an input, or what an op of a
  /// fragment computes.
  Value getFirst(Value value) const { return first[numbers.lookup(value)]; }
  /// Whether a first value is an argument of the function, or the transfer of
  /// one.
  static bool isInput(Value first) {
    return isa<BlockArgument>(first) || isa<TransferOp>(first.getDefiningOp());
  }

private:
  void visit(TransferOp transfer);
  void visit(Operation *op);
  unsigned classify(Region &body);
  void add(Value value, bool comesFromInputs) {
    numbers[value] = first.size();
    first.push_back(value);
    isFromInputs.push_back(comesFromInputs);
  }

  /// The number of the first result, by operands, name, attributes, types and
  /// kinds of bodies of an op; a transfer has no name.
  std::map<std::tuple<SmallVector<unsigned>, const void *, const void *,
                      SmallVector<const void *>, SmallVector<unsigned>>,
           unsigned>
      known;
  EqualityClasses<Region *> bodies;
  DenseMap<Value, unsigned> numbers;
  SmallVector<Value> first;
  SmallVector<bool> isFromInputs;
  DenseMap<unsigned, unsigned> numFragments;
  /// The last fragment that computes the value of a number.
  DenseMap<unsigned, Operation *> lastFragment;
};

} // namespace mlir::mpmd

#endif
