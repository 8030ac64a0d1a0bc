//===- ControlDependencies.cpp --------------------------------------------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

#include "meshwright/Fragments/ControlDependencies.h"
#include "meshwright/Dialect/Mpmd/Fragments.h"
#include "meshwright/Fragments/FragmentWalk.h"
#include "mlir/IR/Builders.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/SmallVectorExtras.h"

using namespace mlir;
using namespace mlir::mpmd;

void mlir::mpmd::addControlDependency(FragmentOp first, FragmentOp second) {
  addControlDependencies(first, second);
}

void mlir::mpmd::addControlDependencies(ArrayRef<FragmentOp> firsts,
                                        FragmentOp second) {
  if (firsts.empty())
    return;
  unsigned numOperands = second->getNumOperands();
  if (!second->hasAttr(kControlOperandStartIdxAttr))
    second->setAttr(kControlOperandStartIdxAttr,
                    Builder(second).getI64IntegerAttr(numOperands));
  second->insertOperands(
      numOperands, llvm::map_to_vector(firsts, [](FragmentOp first) -> Value {
        return first->getResult(0);
      }));
}

/// Removes the control operands of `fragment` and returns them.
static SmallVector<Value> takeControlOperands(FragmentOp fragment) {
  auto start =
      fragment->getAttrOfType<IntegerAttr>(kControlOperandStartIdxAttr);
  if (!start)
    return {};
  fragment->removeAttr(kControlOperandStartIdxAttr);
  int64_t first = start.getInt(), numOperands = fragment->getNumOperands();
  if (first < 0 || first >= numOperands)
    return {};
  auto operands =
      llvm::to_vector_of<Value>(fragment->getOperands().drop_front(first));
  fragment->eraseOperands(first, numOperands - first);
  return operands;
}

void mlir::mpmd::removeControlDependencies(func::FuncOp func) {
  walkOutsideFragments<FragmentOp>(
      func, [](FragmentOp fragment) { takeControlOperands(fragment); });
}

static void keepControlDependencies(func::FuncOp func) {
  SmallVector<std::pair<FragmentOp, SmallVector<Operation *>>> waiting;
  DenseMap<Operation *, int64_t> numbers;
  walkOutsideFragments<FragmentOp>(func, [&](FragmentOp fragment) {
    SmallVector<Operation *> firsts;
    for (Value operand : takeControlOperands(fragment))
      if (auto first = operand.getDefiningOp<FragmentOp>())
        firsts.push_back(first);
    for (Operation *first : firsts)
      numbers.try_emplace(first);
    if (!firsts.empty())
      waiting.emplace_back(fragment, std::move(firsts));
  });
  Builder builder(func);
  int64_t count = 0;
  walkOutsideFragments<FragmentOp>(func, [&](FragmentOp fragment) {
    auto it = numbers.find(fragment);
    if (it == numbers.end())
      return;
    it->second = count++;
    fragment->setAttr(kControlNumberAttr,
                      builder.getI64IntegerAttr(it->second));
  });
  for (auto &[fragment, firsts] : waiting)
    fragment->setAttr(
        kControlAfterAttr,
        builder.getDenseI64ArrayAttr(llvm::map_to_vector(
            firsts, [&](Operation *first) { return numbers.lookup(first); })));
}

void mlir::mpmd::settleControlDependencies(func::FuncOp func, bool remove) {
  if (remove)
    removeControlDependencies(func);
  else
    keepControlDependencies(func);
}

namespace {
/// The fragments so far, by block and number.
class NumberedFragments {
public:
  LogicalResult add(FragmentOp fragment, Attribute number) {
    auto integer = dyn_cast<IntegerAttr>(number);
    if (!integer || !integer.getType().isSignlessInteger(64))
      return fragment.emitError()
             << "has a " << kControlNumberAttr << " that is no i64: " << number;
    if (fragment->getNumResults() == 0)
      return fragment.emitError() << "has a " << kControlNumberAttr
                                  << ", but no result by which "
                                     "another fragment could wait "
                                     "for it; remove that";
    if (fragments.try_emplace(getKey(fragment, integer.getInt()), fragment)
            .second)
      return success();
    return fragment.emitError()
           << "has the " << kControlNumberAttr << ' ' << integer.getInt()
           << " of an earlier fragment; give it another one";
  }

  LogicalResult makeWait(FragmentOp second, Attribute numbers) const {
    auto list = dyn_cast<DenseI64ArrayAttr>(numbers);
    if (!list)
      return second.emitError() << "has a " << kControlAfterAttr
                                << " that is no array<i64: ...>: " << numbers;
    SmallVector<FragmentOp> firsts;
    for (int64_t number : list.asArrayRef())
      if (FragmentOp first = fragments.lookup(getKey(second, number)))
        firsts.push_back(first);
    addControlDependencies(firsts, second);
    return success();
  }

private:
  static std::pair<Block *, int64_t> getKey(FragmentOp fragment,
                                            int64_t number) {
    return {fragment->getBlock(), number};
  }

  DenseMap<std::pair<Block *, int64_t>, FragmentOp> fragments;
};
} // namespace

LogicalResult mlir::mpmd::restoreControlDependencies(func::FuncOp func) {
  NumberedFragments fragments;
  LogicalResult result = success();
  walkOutsideFragments<FragmentOp>(func, [&](FragmentOp fragment) {
    // What the body takes is not for control.
    if (fragment->getNumOperands() <= fragment.getBody()->getNumArguments())
      fragment->removeAttr(kControlOperandStartIdxAttr);
    if (Attribute numbers = fragment->removeAttr(kControlAfterAttr))
      if (failed(fragments.makeWait(fragment, numbers)))
        result = failure();
    if (Attribute number = fragment->removeAttr(kControlNumberAttr))
      if (failed(fragments.add(fragment, number)))
        result = failure();
  });
  if (failed(result))
    removeControlDependencies(func);
  return result;
}
