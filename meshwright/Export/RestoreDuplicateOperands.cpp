//===- RestoreDuplicateOperands.cpp ---------------------------------------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// Sums over microbatches start from zeros, and zeros of one type are one value, which
// the first unit of a kind reads once where the others read several sums:
//
//   %z = fragment () {return 0}
//   %1:2 = fragment (%x, %z) (%a, %b) {return %a + %b, %a * %b}
//   %2:2 = fragment (%y, %1#0, %1#1) (%a, %b, %c) {return %a + %b, %a * %c}
//
// The first gets the body of the second, and a zero of its own for each sum, since it
// writes the sum over it:
//
//   %z:2 = fragment () {return 0, 0}
//   %1:2 = fragment (%x, %z#0, %z#1) (%a, %b, %c) {return %a + %b, %a * %c}
//
//===----------------------------------------------------------------------===//

#include "meshwright/Dialect/Mpmd/Fragments.h"
#include "meshwright/Fragments/AlikeUnits.h"
#include "meshwright/Fragments/SharedBodies.h"
#include "meshwright/IR/RebuildOp.h"
#include "mlir/IR/Matchers.h"
#include "mlir/IR/OperationSupport.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/STLExtras.h"
#include <optional>

#define GEN_PASS_DEF_RESTOREDUPLICATEOPERANDSPASS
#include "meshwright/Export/Passes.h"

using namespace mlir;
using namespace mlir::mpmd;

/// Whether a value is a constant that an inferred fragment makes.
static bool isInferredConstant(Value value) {
  auto producer = value.getDefiningOp<FragmentOp>();
  if (!producer || !isInferredFragment(producer))
    return false;
  Operation *terminator = producer.getRegion().front().getTerminator();
  Operation *constant = getDefiningOpInBody(
      terminator->getOperand(cast<OpResult>(value).getResultNumber()));
  return constant && matchPattern(constant, m_Constant());
}

/// For each argument of `body` the one of `merged` in its place, if both compute the
/// same once arguments of `body` are merged.
static std::optional<SmallVector<unsigned>> matchArguments(Block &body,
                                                           Block &merged) {
  DenseMap<Value, Value> counterparts;
  auto areEquivalent = [&](Value value, Value other) {
    auto [it, isNew] = counterparts.try_emplace(value, other);
    if (!isNew)
      return success(it->second == other);
    return success(
        isa<BlockArgument>(value) && value.getParentBlock() == &body &&
        other.getParentBlock() == &merged && isa<BlockArgument>(other) &&
        value.getType() == other.getType());
  };
  auto markEquivalent = [&](Value value, Value other) {
    counterparts[value] = other;
  };
  if (!llvm::equal(body, merged, [&](Operation &op, Operation &other) {
        return OperationEquivalence::isEquivalentTo(
            &op, &other, areEquivalent, markEquivalent,
            OperationEquivalence::IgnoreLocations);
      }))
    return std::nullopt;
  SmallVector<unsigned> numbers;
  for (BlockArgument arg : body.getArguments()) {
    auto other = dyn_cast_if_present<BlockArgument>(counterparts.lookup(arg));
    if (!other)
      return std::nullopt;
    numbers.push_back(other.getArgNumber());
  }
  return numbers;
}

static std::optional<SmallVector<unsigned>>
matchOperands(FragmentOp fragment, FragmentOp merged, RewriterBase &rewriter) {
  if (fragment->getResultTypes() != merged->getResultTypes() ||
      fragment->getAttr(kResAttrsAttr) != merged->getAttr(kResAttrsAttr))
    return std::nullopt;
  // Copies beside the originals, which keep what they share.
  rewriter.setInsertionPoint(merged);
  auto copy = cast<FragmentOp>(rewriter.clone(*fragment));
  auto mergedCopy = cast<FragmentOp>(rewriter.clone(*merged));
  inlineSharedBodies(copy, rewriter);
  inlineSharedBodies(mergedCopy, rewriter);
  auto numbers =
      matchArguments(copy.getRegion().front(), mergedCopy.getRegion().front());
  rewriter.eraseOp(copy);
  rewriter.eraseOp(mergedCopy);
  if (!numbers)
    return std::nullopt;
  BitVector isRead(merged->getNumOperands()), isReadAgain(isRead);
  for (auto [index, number] : llvm::enumerate(*numbers)) {
    (isRead.test(number) ? isReadAgain : isRead).set(number);
    if (getArgAttrs(fragment, index) != getArgAttrs(merged, number))
      return std::nullopt;
  }
  bool areConstants =
      llvm::all_of(isReadAgain.set_bits(), [&](unsigned number) {
        return isInferredConstant(merged->getOperand(number));
      });
  return areConstants && isRead.all() ? numbers : std::nullopt;
}

/// Replaces `merged` by a fragment with the body of `fragment`.
static FragmentOp restore(FragmentOp merged, FragmentOp fragment,
                          ArrayRef<unsigned> numbers, RewriterBase &rewriter) {
  rewriter.setInsertionPoint(merged);
  auto restored = cast<FragmentOp>(rewriter.clone(*fragment));
  rewriter.modifyOpInPlace(restored, [&] {
    restored->setLoc(merged.getLoc());
    restored->setAttrs(merged->getAttrDictionary());
    if (Attribute entries = fragment->getAttr(kArgAttrsAttr))
      restored->setAttr(kArgAttrsAttr, entries);
    restored->setOperands(llvm::map_to_vector(
        numbers, [&](unsigned number) { return merged->getOperand(number); }));
  });
  rewriter.replaceOp(merged, restored);
  return restored;
}

namespace {
/// Gives constants that units read results of their own. Each fragment that makes
/// some is rebuilt once.
class Separation {
public:
  /// Takes what a unit reads where `other`, which is alike, reads something else.
  void add(FragmentOp unit, FragmentOp other);
  void run(RewriterBase &rewriter);

private:
  /// Adds a result for each operand to what makes them all.
  static void addResults(FragmentOp producer, ArrayRef<OpOperand *> operands,
                         RewriterBase &rewriter);

  llvm::MapVector<FragmentOp, SmallVector<OpOperand *>> operandsOf;
  /// Uses that a value has left, of those that have been met.
  DenseMap<Value, unsigned> numUses;
};
} // namespace

void Separation::add(FragmentOp unit, FragmentOp other) {
  for (auto [operand, counterpart] :
       llvm::zip_equal(unit->getOpOperands(), other->getOperands())) {
    Value value = operand.get();
    if (value == counterpart || !isInferredConstant(value))
      continue;
    unsigned &uses =
        numUses.try_emplace(value, value.getNumUses()).first->second;
    if (uses == 1)
      continue;
    --uses;
    operandsOf[value.getDefiningOp<FragmentOp>()].push_back(&operand);
  }
}

void Separation::addResults(FragmentOp producer, ArrayRef<OpOperand *> operands,
                            RewriterBase &rewriter) {
  auto numbers = llvm::map_to_vector(operands, [](OpOperand *operand) {
    return cast<OpResult>(operand->get()).getResultNumber();
  });
  Operation *terminator = producer.getRegion().front().getTerminator();
  SmallVector<Value> returned(terminator->getOperands());
  SmallVector<Type> types(producer->getResultTypes());
  for (unsigned number : numbers) {
    returned.push_back(returned[number]);
    types.push_back(types[number]);
  }
  rewriter.modifyOpInPlace(terminator,
                           [&] { terminator->setOperands(returned); });
  rewriter.setInsertionPoint(producer);
  Operation *rebuilt =
      rebuildOp(producer, producer->getOperands(), types, rewriter);
  if (auto entries = producer->getAttrOfType<ArrayAttr>(kResAttrsAttr)) {
    SmallVector<Attribute> all(entries.getValue());
    for (unsigned number : numbers)
      all.push_back(all[number]);
    rebuilt->setAttr(kResAttrsAttr, rewriter.getArrayAttr(all));
  }
  ResultRange results = rebuilt->getResults();
  size_t numOld = producer->getNumResults();
  for (auto [operand, result] :
       llvm::zip_equal(operands, results.drop_front(numOld)))
    rewriter.modifyOpInPlace(
        operand->getOwner(),
        [operand = operand, result = result] { operand->set(result); });
  rewriter.replaceOp(producer, results.take_front(numOld));
}

void Separation::run(RewriterBase &rewriter) {
  for (auto &[producer, operands] : operandsOf)
    addResults(producer, operands, rewriter);
}

namespace {
struct RestoreDuplicateOperandsPass
    : mpmd::impl::RestoreDuplicateOperandsPassBase<
          RestoreDuplicateOperandsPass> {
  void runOnFunction(func::FuncOp func) override {
    IRRewriter rewriter(func.getContext());
    AlikeUnits units(func.front());
    SmallVector<std::pair<FragmentOp, FragmentOp>> alike;
    for (ArrayRef<FragmentOp> kind : units.getKinds()) {
      // Of those with all operands the last: the first may read constants.
      FragmentOp widest = kind.front();
      for (FragmentOp unit : kind.drop_front())
        if (unit->getNumOperands() >= widest->getNumOperands())
          widest = unit;
      for (FragmentOp unit : kind) {
        if (unit == widest)
          continue;
        if (unit->getNumOperands() < widest->getNumOperands()) {
          auto numbers = matchOperands(widest, unit, rewriter);
          if (!numbers)
            continue;
          unit = restore(unit, widest, *numbers, rewriter);
          ++numRestored;
        }
        alike.push_back({unit, widest});
      }
    }
    Separation constants;
    for (auto [unit, widest] : alike)
      constants.add(unit, widest);
    constants.run(rewriter);
  }
};
} // namespace
