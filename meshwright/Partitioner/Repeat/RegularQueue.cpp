//===- RegularQueue.cpp - Whether microbatches go on alike ----------------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

#include "meshwright/Partitioner/Repeat/RegularQueue.h"
#include "meshwright/Dialect/Sdy/SdyDialect.h"
#include "meshwright/Dialect/StableHLO/StablehloDialect.h"
#include "mlir/IR/Operation.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SmallVector.h"

using namespace mlir;
using namespace meshwright;

/// How many operations are followed from a value.
static constexpr unsigned kMostFollowed = 32;

namespace {
/// What must be equal, and numbers that may grow.
struct Description {
  SmallVector<const void *> form;
  SmallVector<int64_t> numbers;
};
} // namespace

/// Whether two such operations of the same operands make the same.
static bool isRepeatable(Operation *op) {
  return op->getNumRegions() == 0 && op->getNumResults() == 1 &&
         (isMemoryEffectFree(op) || isa<sdy::ShardingConstraintOp>(op));
}

static void describeMaking(Value value, unsigned &numLeft,
                           Description &description) {
  auto &[form, numbers] = description;
  form.push_back(value.getType().getAsOpaquePointer());
  if (auto argument = dyn_cast<BlockArgument>(value)) {
    form.push_back(argument.getOwner());
    numbers.push_back(argument.getArgNumber());
    return;
  }
  auto result = cast<OpResult>(value);
  Operation *op = result.getOwner();
  if (numLeft == 0 || !isRepeatable(op)) {
    form.push_back(op);
    numbers.push_back(result.getResultNumber());
    return;
  }
  --numLeft;
  form.push_back(op->getName().getAsOpaquePointer());
  if (auto slice = dyn_cast<stablehlo::SliceOp>(op)) {
    llvm::append_range(numbers, slice.getStartIndices());
    llvm::append_range(numbers, slice.getLimitIndices());
    form.push_back(slice.getStridesAttr().getAsOpaquePointer());
  } else {
    form.push_back(op->getAttrDictionary().getAsOpaquePointer());
  }
  for (Value operand : op->getOperands())
    describeMaking(operand, numLeft, description);
}

/// The use at which a value arrives through operations with one operand.
static OpOperand &followToReader(OpOperand &use) {
  OpOperand *last = &use;
  for (unsigned i = 0; i < kMostFollowed; ++i) {
    Operation *op = last->getOwner();
    if (op->getNumOperands() != 1 || op->getNumResults() != 1 ||
        !op->getResult(0).hasOneUse())
      break;
    last = &*op->getResult(0).use_begin();
  }
  return *last;
}

/// The last operation of a chain such as `((a + b) + c) + d`, and how far away it is.
static std::pair<Operation *, int64_t> findEndOfChain(Operation *op) {
  int64_t distance = 0;
  while (op->getResult(0).hasOneUse()) {
    Operation *next = *op->user_begin();
    if (next->getName() != op->getName() || next->getNumOperands() != 2)
      break;
    op = next;
    ++distance;
  }
  return {op, distance};
}

/// The last of concatenations of concatenations along one dimension, and where an operand
/// of the first begins in it.
static std::pair<Operation *, int64_t> findPlaceIn(stablehlo::ConcatenateOp op,
                                                   unsigned operand) {
  int64_t place = 0;
  while (true) {
    for (Value before : op->getOperands().take_front(operand))
      place += cast<ShapedType>(before.getType()).getDimSize(op.getDimension());
    if (!op->hasOneUse())
      return {op, place};
    OpOperand &use = *op->use_begin();
    auto next = dyn_cast<stablehlo::ConcatenateOp>(use.getOwner());
    if (!next || next.getDimension() != op.getDimension())
      return {op, place};
    op = next;
    operand = use.getOperandNumber();
  }
}

static void describeReading(Value value, Description &description) {
  SmallVector<std::pair<Operation *, int64_t>> readers;
  for (OpOperand &use : value.getUses()) {
    OpOperand &last = followToReader(use);
    Operation *op = last.getOwner();
    if (auto concatenate = dyn_cast<stablehlo::ConcatenateOp>(op))
      readers.push_back(findPlaceIn(concatenate, last.getOperandNumber()));
    else if (op->getNumOperands() == 2 && op->getNumResults() == 1)
      readers.push_back(findEndOfChain(op));
    else
      readers.push_back({op, last.getOperandNumber()});
  }
  llvm::sort(readers);
  for (auto [op, number] : readers) {
    description.form.push_back(op);
    // Of a slice, the other values are not known to be read at all.
    if (llvm::any_of(op->getUsers(), llvm::IsaPred<stablehlo::SliceOp>))
      description.form.push_back(value.getAsOpaquePointer());
    description.numbers.push_back(number);
  }
}

/// Whether all have one form, and the numbers grow by the same each time, but for the
/// first: a chain begins with two values.
static bool isRegular(ArrayRef<Description> all) {
  if (all.size() < 3)
    return true;
  const Description &first = all[1], &second = all[2];
  if (!llvm::all_of(all, [&](const Description &description) {
        return description.form == first.form &&
               description.numbers.size() == first.numbers.size();
      }))
    return false;
  for (auto [index, description] : llvm::enumerate(all.drop_front()))
    for (auto [number, from, next] :
         llvm::zip_equal(description.numbers, first.numbers, second.numbers))
      if (number != from + static_cast<int64_t>(index) * (next - from))
        return false;
  return true;
}

bool meshwright::areMadeAlike(ValueRange values) {
  SmallVector<Description, 0> all(values.size());
  for (auto [value, description] : llvm::zip_equal(values, all)) {
    unsigned numLeft = kMostFollowed;
    describeMaking(value, numLeft, description);
  }
  return isRegular(all);
}

bool meshwright::areReadAlike(ValueRange values) {
  SmallVector<Description, 0> all(values.size());
  for (auto [value, description] : llvm::zip_equal(values, all))
    describeReading(value, description);
  return isRegular(all);
}
