//===- FuseOverlappedPairs.cpp - One program for two actions --------------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// A device runs one program after the other, so that collectives of one fragment
// are never hidden by the work of another one. As one program, its compiler can do that:
//
//   %0 = fragment<"m", ["f"]> (%x) {F}
//   %1 = fragment<"m", ["g"(1)]> (%y) {B}
//   // becomes
//   %0:2 = fragment<"m", ["f", "g"(1)]> (%x, %y) {F; B}
//
// The scheduler has marked the two. What can become one, and gains by that, is found
// first; all else is left as it is, with a remark. Then groups are built, and the block
// is sorted: what a pair reads may be after its first part, and what reads its first part
// before the second.
//
//===----------------------------------------------------------------------===//

#include "meshwright/Dialect/Mpmd/Effects.h"
#include "meshwright/Dialect/Mpmd/Fragments.h"
#include "meshwright/Dialect/Mpmd/Functions.h"
#include "meshwright/Export/Pairs/MarkedPairs.h"
#include "meshwright/Export/Pairs/OverlapTimes.h"
#include "meshwright/Export/Pairs/PairForms.h"
#include "meshwright/Export/Pairs/PairFuser.h"
#include "meshwright/Export/Pairs/PairSearch.h"
#include "meshwright/Export/Pairs/SendOrder.h"
#include "meshwright/Fragments/Merge/MergeRemarks.h"
#include "meshwright/Order/BlockGraph.h"
#include "meshwright/Order/EffectOrder.h"
#include "mlir/IR/Remarks.h"
#include "llvm/ADT/BitVector.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SmallVectorExtras.h"

#define GEN_PASS_DEF_FUSEOVERLAPPEDPAIRSPASS
#include "meshwright/Export/Passes.h"

using namespace mlir;
using namespace mlir::mpmd;

//===----------------------------------------------------------------------===//
// Remarks
//===----------------------------------------------------------------------===//

static std::string describeUnit(FragmentOp fragment) {
  std::string text = describe(fragment);
  if (std::optional<uint32_t> counter = getCallCounter(fragment))
    text += " of microbatch " + std::to_string(*counter);
  return text;
}

static void remarkPaired(const MarkedPair &pair, StringRef how) {
  FragmentOp first = pair.first.front();
  if (first.getContext()->getRemarkEngine())
    remark::passed(first.getLoc(),
                   remark::RemarkOpts::name("overlapped").category("overlap"))
        << describeUnit(first) << " and " << describeUnit(pair.second.front())
        << " on mesh \"" << first.getMeshName()
        << "\" are fused into one program" << how;
}

static void remarkApart(const MarkedPair &pair, const std::string &why) {
  FragmentOp first = pair.first.front();
  if (first.getContext()->getRemarkEngine())
    remark::missed(
        first.getLoc(),
        remark::RemarkOpts::name("not overlapped").category("overlap"))
        << describeUnit(first) << " and " << describeUnit(pair.second.front())
        << " on mesh \"" << first.getMeshName() << "\" are not fused: " << why;
}

namespace {
struct FuseOverlappedPairsPass
    : mpmd::impl::FuseOverlappedPairsPassBase<FuseOverlappedPairsPass> {
  using Base::Base;

  void runOnOperation() override {
    ModuleOp module = getOperation();
    for (auto func : module.getOps<func::FuncOp>()) {
      if (func.isDeclaration() || !isMpmdFunction(func))
        continue;
      FailureOr<std::vector<MarkedPair>> pairs = takePairs(func.front());
      if (failed(pairs))
        return signalPassFailure();
      if (pairs->empty() || !fuse)
        continue;
      // They are of fragments, some of which are gone after each function.
      std::optional<OverlapTimes> times;
      std::optional<meshwright::Device> known;
      if (failed(makeTimes(times, known)))
        return signalPassFailure();
      if (failed(fusePairs(func, *pairs, *times, known)))
        return signalPassFailure();
    }
  }

private:
  LogicalResult makeTimes(std::optional<OverlapTimes> &times,
                          std::optional<meshwright::Device> &known);
  LogicalResult fusePairs(func::FuncOp func, ArrayRef<MarkedPair> pairs,
                          OverlapTimes &times,
                          const std::optional<meshwright::Device> &known);
  void fuseChosen(const BlockGraph &graph, ArrayRef<PairForms> forms,
                  const ChosenPairs &choice, PairFuser &fuser);
};
} // namespace

LogicalResult
FuseOverlappedPairsPass::makeTimes(std::optional<OverlapTimes> &times,
                                   std::optional<meshwright::Device> &known) {
  llvm::StringRef name = device.getValue().text;
  if (!name.empty()) {
    llvm::Expected<meshwright::Device> found = meshwright::findDevice(name);
    if (!found)
      return getOperation()->emitError()
             << "mpmd_schedule_device: " << llvm::toString(found.takeError());
    known = std::move(*found);
  }
  llvm::Expected<meshwright::CustomCosts> customs =
      meshwright::parseCostList(customCosts.getValue().text);
  if (!customs)
    return getOperation()->emitError()
           << "mpmd_custom_costs: " << llvm::toString(customs.takeError());
  times.emplace(getOperation(), known, *customs);
  return success();
}

/// Whether the second part needs the first, directly or by way of others.
static bool dependsOn(const BlockGraph &graph, unsigned first,
                      ArrayRef<unsigned> second) {
  // What is needed lies between them in the block.
  unsigned last = *llvm::max_element(second);
  if (last < first)
    return false;
  llvm::BitVector needed(last - first + 1);
  for (unsigned member : second)
    if (member > first)
      needed.set(member - first);
  for (unsigned position = last; position > first; --position)
    if (needed.test(position - first))
      for (unsigned producer : graph.getProducers(position))
        if (producer >= first)
          needed.set(producer - first);
  return needed.test(0);
}

/// What may run later than in its turn: nothing waits for the late half of a backward.
/// Where a plan has that as a part of a backward, it says nothing about its place.
static BitVector findLateHalves(const BlockGraph &graph,
                                ArrayRef<MarkedPair> pairs) {
  BitVector late(graph.size());
  if (llvm::any_of(
          pairs, [](const MarkedPair &pair) { return pair.second.size() > 1; }))
    for (unsigned op = 0; op < graph.size(); ++op)
      if (graph.getOp(op)->hasAttr(kSplitDropTransferredAttr) &&
          !hasEffects(graph.getOp(op)))
        late.set(op);
  return late;
}

void FuseOverlappedPairsPass::fuseChosen(const BlockGraph &graph,
                                         ArrayRef<PairForms> forms,
                                         const ChosenPairs &choice,
                                         PairFuser &fuser) {
  DenseMap<unsigned, FragmentOp> lateOf;
  for (auto [position, half] : choice.withLate)
    lateOf[position] = cast<FragmentOp>(graph.getOp(half));
  for (auto [found, isChosen, isEarly] :
       llvm::zip_equal(forms, choice.isChosen, choice.isEarly)) {
    MarkedPair pair = isEarly ? found.pair.withoutLateHalf() : found.pair;
    if (isChosen) {
      StringRef how = isEarly ? "; its late half follows" : "";
      if (auto late = lateOf.find(graph.getPosition(pair.first.front()));
          late != lateOf.end()) {
        pair.second.push_back(late->second);
        lateOf.erase(late);
        how = "; with a late half that waited";
      }
      remarkPaired(pair, how);
      fuser.fuse(pair);
    } else if (getContext().getRemarkEngine()) {
      ArrayRef<unsigned> positions =
          (isEarly ? found.early : found.whole)->members;
      remarkApart(pair,
                  dependsOn(graph, positions.front(), positions.drop_front())
                      ? "the second needs the first, by way of other meshes"
                      : "the first, or what reads it, would wait longer than "
                        "overlapping saves");
    }
  }
  for (auto [position, half] : choice.withLate) {
    FragmentOp late = lateOf.lookup(position);
    if (!late)
      continue;
    MarkedPair pair{-1, {cast<FragmentOp>(graph.getOp(position))}, {late}};
    remarkPaired(pair, "; the second is a late half that waited");
    fuser.fuse(pair);
  }
}

LogicalResult FuseOverlappedPairsPass::fusePairs(
    func::FuncOp func, ArrayRef<MarkedPair> pairs, OverlapTimes &times,
    const std::optional<meshwright::Device> &known) {
  PairSearch search(func, times, onlyWithCollectives);
  if (failed(search.measure(known)))
    return failure();
  FailureOr<std::vector<PairForms>> forms =
      search.findForms(pairs, remarkApart);
  if (failed(forms))
    return failure();

  // Without a device, transfers leave no gaps.
  ArrayRef<MarkedPair> timed = known ? pairs : ArrayRef<MarkedPair>();
  bool hasFailed = false;
  auto getHidden = [&](ArrayRef<unsigned> positions, unsigned half) {
    FailureOr<double> hidden = search.getHiddenByHalf(positions, half);
    hasFailed |= failed(hidden);
    return hasFailed ? 0.0 : *hidden;
  };
  const BlockGraph &graph = search.graph;
  ChosenPairs choice =
      choosePairs(graph, search.queues, search.seconds,
                  {findLateHalves(graph, timed), getHidden}, *forms);
  if (hasFailed)
    return failure();
  auto order = llvm::map_to_vector(choice.order, [&](ArrayRef<unsigned> queue) {
    return llvm::map_to_vector(queue,
                               [&](unsigned op) { return graph.getOp(op); });
  });
  PairFuser fuser(search.effects, getContext());
  fuseChosen(graph, *forms, choice, fuser);
  numApart += pairs.size() - llvm::count(choice.isChosen, true);
  ArrayRef<FragmentOp> allFused = fuser.getFused();
  numPairs += allFused.size();
  if (allFused.empty())
    return success();
  if (failed(fuser.finish(func, order)))
    return failure();
  sendInOrder(allFused);
  return success();
}
