//===- MergeInferredFragments.cpp -----------------------------------------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// Fragments that the compiler inferred hold little work, yet each would be a
// program of its own. They are merged with their neighbours, user fragments or
// other inferred ones:
//
//   %0 = fragment<"m", []> (%x) {negate}
//   %1 = fragment<"m", ["f"]> (%0, %y) {add}
//   // becomes
//   %0 = fragment<"m", ["f"]> (%x, %y) {negate; add}
//
// The pass only says which pairs may merge; the merge driver does the rest. On
// demand, an inferred fragment that several fragments read is computed in each:
//
//   %0 = fragment<"m", []> (%x) {negate}
//   %1 = fragment<"m", ["f"]> (%0) {abs}
//   %2 = fragment<"m", ["g"]> (%0) {sine}
//   // becomes
//   %1 = fragment<"m", ["f"]> (%x) {negate; abs}
//   %2 = fragment<"m", ["g"]> (%x) {negate; sine}
//
//===----------------------------------------------------------------------===//

#include "meshwright/Dialect/Mpmd/Fragments.h"
#include "meshwright/Fragments/AlikeUnits.h"
#include "meshwright/Fragments/Merge/MergeDriver.h"
#include "meshwright/Fragments/SharedBodies.h"
#include "llvm/ADT/SetVector.h"

#define GEN_PASS_DEF_MERGEINFERREDFRAGMENTSPASS
#include "meshwright/Fragments/Merge/Passes.h"

using namespace mlir;
using namespace mlir::mpmd;

static bool mayMerge(FragmentOp fragment, FragmentOp partner) {
  if (isUserFragment(fragment) && isUserFragment(partner))
    return false;
  // The two halves of a split fragment stay apart.
  return !fragment->hasAttr(kSplitKeepTransferredAttr) ||
         !partner->hasAttr(kSplitDropTransferredAttr);
}

/// Whether a forward unit would have to wait for a backward one of its mesh if it
/// computed what an inferred fragment does. Where the derivative of the last stage does
/// not depend on its output, nothing but the sum of the losses reads that output, and
/// the sum may be one fragment with the update.
static bool wouldWait(FragmentOp fragment, FragmentOp partner) {
  return isSchedulingUnit(fragment) && isForwardFragment(fragment) &&
         llvm::any_of(partner.getOperands(), [&](Value operand) {
           auto producer = operand.getDefiningOp<FragmentOp>();
           return producer && isSchedulingUnit(producer) &&
                  isBackwardFragment(producer);
         });
}

/// Whether a chain of ops leads from `op` to a scheduling unit: from users to their
/// users, or from operands to theirs.
static bool leadsToUnit(Operation *op, bool byUsers) {
  llvm::SmallPtrSet<Operation *, 16> seen;
  SmallVector<Operation *> worklist = {op};
  while (!worklist.empty()) {
    Operation *current = worklist.pop_back_val();
    SmallVector<Operation *> next;
    if (byUsers)
      llvm::append_range(next, current->getUsers());
    else
      for (Value operand : current->getOperands())
        if (Operation *producer = operand.getDefiningOp())
          next.push_back(producer);
    for (Operation *other : next) {
      if (!seen.insert(other).second)
        continue;
      if (auto fragment = dyn_cast<FragmentOp>(other);
          fragment && isSchedulingUnit(fragment))
        return true;
      worklist.push_back(other);
    }
  }
  return false;
}

/// Whether no two units that are alike have to keep a result until an inferred fragment
/// reads them both, itself or by what other inferred ones compute for it. Scalars, such
/// as losses, do not count.
static bool readsOneOfEachKind(FragmentOp inferred) {
  llvm::SmallDenseMap<Attribute, Operation *> read;
  llvm::SmallSetVector<FragmentOp, 8> readers;
  readers.insert(inferred);
  for (unsigned at = 0; at < readers.size(); ++at) {
    FragmentOp reader = readers[at];
    for (Value operand : reader.getOperands()) {
      auto producer = operand.getDefiningOp<FragmentOp>();
      auto type = dyn_cast<MeshTensorType>(operand.getType());
      if (!producer || (type && type.getRankedTensorType().getRank() == 0))
        continue;
      if (isInferredFragment(producer))
        readers.insert(producer);
      else if (isSchedulingUnit(producer) &&
               read.try_emplace(producer.getOriginAttr(), producer)
                       .first->second != producer)
        return false;
    }
  }
  return true;
}

/// Whether one of several units that are alike would become a program of its own: by
/// what is computed once, before the first of them, such as the parts of a batch, or
/// after the last, such as the update.
static bool wouldDiffer(FragmentOp fragment, FragmentOp partner,
                        const AlikeUnits &units) {
  bool isFirstUnit = isUserFragment(fragment);
  FragmentOp inferred = isFirstUnit ? partner : fragment;
  return units.hasOthers(isFirstUnit ? fragment : partner) &&
         (!leadsToUnit(inferred, /*byUsers=*/false) ||
          (!leadsToUnit(inferred, /*byUsers=*/true) &&
           readsOneOfEachKind(inferred)));
}

/// The fragments beside `fragment` that read it on its mesh, in block order.
static SmallVector<FragmentOp> getConsumers(FragmentOp fragment) {
  llvm::SmallSetVector<FragmentOp, 4> consumers;
  for (Operation *user : fragment->getUsers())
    if (auto consumer = dyn_cast<FragmentOp>(user);
        consumer && consumer->getBlock() == fragment->getBlock() &&
        consumer.getMeshNameAttr() == fragment.getMeshNameAttr())
      consumers.insert(consumer);
  SmallVector<FragmentOp> sorted = consumers.takeVector();
  llvm::sort(sorted,
             [](FragmentOp a, FragmentOp b) { return a->isBeforeInBlock(b); });
  return sorted;
}

static uint64_t countOps(FragmentOp fragment) {
  uint64_t numOps = 0;
  fragment->walk([&](Operation *) { ++numOps; });
  return numOps;
}

/// Gives each of several consumers of an inferred fragment a copy of its own,
/// from the last fragment to the first. The original stays for other users.
static LogicalResult cloneForConsumers(func::FuncOp func, int64_t maxOps) {
  OpBuilder builder(func.getContext());
  uint64_t numOps = 0;
  auto fragments = llvm::to_vector(func.front().getOps<FragmentOp>());
  for (FragmentOp fragment : llvm::reverse(fragments)) {
    if (!isInferredFragment(fragment) || !isPureFragment(fragment))
      continue;
    SmallVector<FragmentOp> consumers = getConsumers(fragment);
    if (consumers.size() < 2)
      continue;
    numOps += countOps(fragment) * consumers.size();
    if (numOps > static_cast<uint64_t>(std::max<int64_t>(maxOps, 0)))
      return fragment.emitError()
             << "cloning inferred fragments for all that read them makes more "
                "than "
             << maxOps
             << " operations; merge without clone-inferred-fragments, or allow "
                "more by the option max-cloned-ops of the pass";
    for (FragmentOp consumer : consumers) {
      builder.setInsertionPoint(consumer);
      Operation *copy = builder.clone(*fragment);
      for (OpOperand &operand : consumer->getOpOperands())
        if (auto result = dyn_cast<OpResult>(operand.get());
            result && result.getOwner() == fragment)
          operand.set(copy->getResult(result.getResultNumber()));
    }
    if (fragment->use_empty())
      fragment->erase();
  }
  return success();
}

namespace {
struct MergeInferredFragmentsPass
    : mpmd::impl::MergeInferredFragmentsPassBase<MergeInferredFragmentsPass> {
  using Base::Base;

  void runOnFunction(func::FuncOp func) override {
    if (mergeAnyConsumer && mergeSideways) {
      func.emitError() << "merge-any-consumer and merge-sideways exclude each "
                          "other; run the pass twice, once with each";
      return signalPassFailure();
    }
    if (cloneInferredFragments && !func.isDeclaration() &&
        failed(cloneForConsumers(func, maxClonedOps)))
      return signalPassFailure();
    MergePartner partner = mergeSideways      ? MergePartner::NextOnMesh
                           : mergeAnyConsumer ? MergePartner::AnyConsumer
                                              : MergePartner::ClosestConsumer;
    std::optional<AlikeUnits> alike;
    if (keepUnitsAlike && !func.isDeclaration())
      alike.emplace(func.front());
    FailureOr<unsigned> count = mergeFragmentsIn(
        func, partner, [&](FragmentOp fragment, FragmentOp other) {
          return mayMerge(fragment, other) &&
                 !(keepForwardApart && wouldWait(fragment, other)) &&
                 !(alike && wouldDiffer(fragment, other, *alike));
        });
    if (failed(count))
      return signalPassFailure();
    numMerged += *count;
  }
};
} // namespace
