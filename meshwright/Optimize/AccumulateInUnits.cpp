//===- AccumulateInUnits.cpp - Sums that are taken where terms are made ---===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// A sum of gradients after all microbatches is merged into the last fragment of its mesh,
// and each gradient waits for that:
//
//   %0 = fragment<"m", ["f"(1)]> (%x) {call_counter = 0} {g}
//   %1 = fragment<"m", ["f"(1)]> (%y) {call_counter = 1} {g}
//   %2 = fragment<"m", ["f"(1)]> (%0, %1, %z) {call_counter = 2} {(%0 + %1) + g}
//   // becomes
//   %0 = fragment<"m", ["f"(1)]> (%x) {call_counter = 0} {g}
//   %1 = fragment<"m", ["f"(1)]> (%0, %y) {call_counter = 1} {%0 + g}
//   %2 = fragment<"m", ["f"(1)]> (%1, %z) {call_counter = 2} {%1 + g}
//
// Terms keep their order, so that the sum is the same to the last bit. What is added to the
// result of a manual computation is added in it, where it is part of the kernel that
// computes the gradient.
//
//===----------------------------------------------------------------------===//

#include "meshwright/Dialect/Mpmd/Fragments.h"
#include "meshwright/Dialect/Sdy/SdyDialect.h"
#include "meshwright/Dialect/StableHLO/StablehloDialect.h"
#include "meshwright/Fragments/AlikeUnits.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/Remarks.h"
#include "llvm/ADT/STLExtras.h"

#define GEN_PASS_DEF_ACCUMULATEINUNITSPASS
#include "meshwright/Optimize/Passes.h"

using namespace mlir;
using namespace mlir::mpmd;

namespace {
/// ((a + b) + c) + d: `adds` are its three ops, `terms` its four values.
struct Sum {
  explicit Sum(stablehlo::AddOp whole);

  SmallVector<stablehlo::AddOp> adds;
  SmallVector<Value> terms;
};

/// The first terms of a sum, which scheduling units compute, one per microbatch.
struct ComputedTerms {
  SmallVector<OpResult> sources;
  bool isOutOfOrder = false; ///< The next unit runs before the last of these.
};

struct AccumulateInUnitsPass
    : mpmd::impl::AccumulateInUnitsPassBase<AccumulateInUnitsPass> {
  void runOnFunction(func::FuncOp func) override;

private:
  void accumulate(FragmentOp reader, stablehlo::AddOp whole);
};
} // namespace

static stablehlo::AddOp getInner(Value value) {
  return value.hasOneUse() ? value.getDefiningOp<stablehlo::AddOp>()
                           : stablehlo::AddOp();
}

Sum::Sum(stablehlo::AddOp whole) {
  for (stablehlo::AddOp add = whole; add;) {
    Value before = add.getLhs(), term = add.getRhs();
    if (!getInner(before) && getInner(term))
      std::swap(before, term);
    adds.push_back(add);
    terms.push_back(term);
    add = getInner(before);
    if (!add)
      terms.push_back(before);
  }
  std::reverse(adds.begin(), adds.end());
  std::reverse(terms.begin(), terms.end());
}

/// What a fragment reads as a term of a sum, and nothing else does.
static OpResult getSource(FragmentOp reader, Value term) {
  auto argument = dyn_cast<BlockArgument>(term);
  if (!argument || argument.getOwner() != reader.getBody() ||
      !argument.hasOneUse())
    return {};
  auto source = dyn_cast<OpResult>(reader.getOperand(argument.getArgNumber()));
  return source && source.hasOneUse() ? source : OpResult();
}

static ComputedTerms findComputedTerms(FragmentOp reader,
                                       ArrayRef<Value> terms) {
  ComputedTerms made;
  for (Value term : terms) {
    OpResult source = getSource(reader, term);
    auto maker = source ? source.getDefiningOp<FragmentOp>() : FragmentOp();
    // A list of shardings would need one more.
    if (!maker || maker->getBlock() != reader->getBlock() ||
        maker.getMeshNameAttr() != reader.getMeshNameAttr() ||
        !isSchedulingUnit(maker) || maker.getInShardings() ||
        maker->hasAttr(kControlOperandStartIdxAttr))
      break;
    if (!made.sources.empty()) {
      OpResult last = made.sources.back();
      auto before = cast<FragmentOp>(last.getOwner());
      if (last.getType() != source.getType() ||
          last.getResultNumber() != source.getResultNumber() ||
          !AlikeUnits::areAlike(before, maker))
        break;
      made.isOutOfOrder = maker->isBeforeInBlock(before);
      if (made.isOutOfOrder)
        break;
    }
    made.sources.push_back(source);
  }
  return made;
}

/// The manual computation whose result a value is, if nothing else reads that.
static sdy::ManualComputationOp getManual(Value value) {
  auto manual = value.getDefiningOp<sdy::ManualComputationOp>();
  if (!manual || !value.hasOneUse())
    return {};
  unsigned number = cast<OpResult>(value).getResultNumber();
  return manual.getOutShardings()
                 .getShardings()[number]
                 .getUnreducedAxes()
                 .empty()
             ? manual
             : sdy::ManualComputationOp();
}

/// Lets a manual computation return what it adds to a sum.
static void addInside(sdy::ManualComputationOp manual, OpResult result,
                      Value sum) {
  unsigned number = result.getResultNumber();
  SmallVector<sdy::TensorShardingAttr> shardings(
      manual.getInShardings().getShardings());
  shardings.push_back(manual.getOutShardings().getShardings()[number]);
  manual.setInShardingsAttr(
      sdy::TensorShardingPerValueAttr::get(manual.getContext(), shardings));
  manual->insertOperands(manual->getNumOperands(), sum);
  Block &body = manual.getBody().front();
  Operation *terminator = body.getTerminator();
  Value piece = terminator->getOperand(number);
  Value pieceOfSum = body.addArgument(piece.getType(), piece.getLoc());
  OpBuilder builder(terminator);
  terminator->setOperand(
      number,
      stablehlo::AddOp::create(builder, result.getLoc(), pieceOfSum, piece));
}

/// Lets a unit return what it adds to a sum.
static void addInside(FragmentOp unit, OpResult result, Value sum) {
  unsigned number = result.getResultNumber();
  unit->insertOperands(unit->getNumOperands(), sum);
  Operation *terminator = unit.getBody()->getTerminator();
  Value term = terminator->getOperand(number);
  Value before = unit.getBody()->addArgument(term.getType(), term.getLoc());
  if (sdy::ManualComputationOp manual = getManual(term))
    return addInside(manual, cast<OpResult>(term), before);
  OpBuilder builder(terminator);
  terminator->setOperand(
      number, stablehlo::AddOp::create(builder, term.getLoc(), before, term));
}

void AccumulateInUnitsPass::accumulate(FragmentOp reader,
                                       stablehlo::AddOp whole) {
  Sum sum(whole);
  ComputedTerms made = findComputedTerms(reader, sum.terms);
  if (made.isOutOfOrder && reader.getContext()->getRemarkEngine())
    remark::missed(
        reader.getLoc(),
        remark::RemarkOpts::name("not accumulated").category("accumulate"))
        << "a sum of microbatches on mesh \"" << reader.getMeshName()
        << "\" is added up at its end: they run in another order than they "
           "are added in";
  size_t count = made.sources.size();
  if (count < 2)
    return;
  for (auto [before, next] :
       llvm::zip(made.sources, ArrayRef(made.sources).drop_front()))
    addInside(cast<FragmentOp>(next.getOwner()), next, before);
  numTerms += count;
  // The last of them is the sum of all.
  Value last = sum.terms[count - 1];
  sum.adds[count - 2].replaceAllUsesWith(last);
  for (stablehlo::AddOp add :
       llvm::reverse(ArrayRef(sum.adds).take_front(count - 1)))
    add.erase();
  if (count == sum.terms.size())
    return;
  stablehlo::AddOp next = sum.adds[count - 1];
  Value term = sum.terms[count];
  sdy::ManualComputationOp manual = getManual(term);
  if (!manual || !next->hasOneUse())
    return;
  next.replaceAllUsesWith(term);
  next.erase();
  addInside(manual, cast<OpResult>(term), last);
}

void AccumulateInUnitsPass::runOnFunction(func::FuncOp func) {
  for (auto fragment : func.getOps<FragmentOp>()) {
    SmallVector<stablehlo::AddOp> wholes;
    for (auto add : fragment.getBody()->getOps<stablehlo::AddOp>())
      if (!add->hasOneUse() || !isa<stablehlo::AddOp>(*add->user_begin()))
        wholes.push_back(add);
    for (stablehlo::AddOp whole : wholes)
      accumulate(fragment, whole);
  }
}
