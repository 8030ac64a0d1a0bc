//===- RematFragment.cpp - Recomputes instead of keeping activations ------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// In a pipeline the backward fragment of a microbatch runs long after its
// forward fragment, and the activations between the two fill the memory. They
// need not be kept if the backward fragment is preceded by a copy of the
// forward one:
//
//   %0 = fragment<"m", ["f"]> (%x)             %0 = fragment ["f"] (%x)
//   …                                          …
//   %1 = fragment<"m", ["f"(1)]> (%0)          %2 = fragment ["f"] (%x) {remat}
//                                              %1 = fragment ["f"(1)] (%2)
//
// Where nothing else runs on the mesh in between, keeping them is free, and
// nothing is done. As fragments are added, each knows its neighbours on its
// mesh, so that this is a lookup. What draws random numbers or acts on the
// world would do so twice, with other numbers the second time: it is kept as
// well.
//
// A remark says what that saves: the bytes of the results that no op reads any
// more where the backward fragment is, or after it.
//
//===----------------------------------------------------------------------===//

#include "meshwright/Cost/TensorBytes.h"
#include "meshwright/Dialect/Mpmd/Effects.h"
#include "meshwright/Dialect/Mpmd/Fragments.h"
#include "meshwright/Dialect/Mpmd/MpmdDialect.h"
#include "meshwright/Fragments/Merge/MergeFragments.h"
#include "meshwright/Fragments/Overlap.h"
#include "mlir/IR/PatternMatch.h"
#include "mlir/IR/Remarks.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/SetVector.h"

#define GEN_PASS_DEF_REMATFRAGMENTPASS
#include "meshwright/Optimize/Passes.h"

using namespace mlir;
using namespace mlir::mpmd;

namespace {
/// The fragments of a block, each with its neighbours on the same mesh.
class MeshQueues {
public:
  explicit MeshQueues(Block &block) {
    DenseMap<StringAttr, Operation *> last;
    unsigned position = 0;
    for (FragmentOp fragment : block.getOps<FragmentOp>()) {
      Operation *&previous = last[fragment.getMeshNameAttr()];
      link(previous, fragment);
      neighbors[fragment].position = position++;
      previous = fragment;
    }
  }

  bool contains(Operation *op) const { return neighbors.contains(op); }
  Operation *getNext(Operation *op) const { return neighbors.at(op).next; }

  /// Whether `a` is before `b`; both have been there from the start, or
  /// have replaced a fragment that was.
  bool isBefore(Operation *a, Operation *b) const {
    return neighbors.at(a).position < neighbors.at(b).position;
  }

  void insertBefore(Operation *added, Operation *op) {
    link(neighbors.at(op).previous, added);
    link(added, op);
  }

  /// Notes that `merged` has replaced `fragment`, which may be gone by now.
  void replace(Operation *fragment, Operation *merged) {
    Neighbors old = neighbors.at(fragment);
    neighbors.erase(fragment);
    neighbors[merged].position = old.position;
    link(old.previous, merged);
    link(merged, old.next);
  }

private:
  struct Neighbors {
    Operation *previous = nullptr;
    Operation *next = nullptr;
    unsigned position = 0;
  };

  void link(Operation *first, Operation *second) {
    if (first)
      neighbors[first].next = second;
    if (second)
      neighbors[second].previous = first;
  }

  DenseMap<Operation *, Neighbors> neighbors;
};
} // namespace

/// Whether `backward` belongs to `forward` and waits for others on their mesh.
static bool needsRemat(FragmentOp forward, FragmentOp backward,
                       const MeshQueues &queues) {
  std::optional<uint32_t> counter = getCallCounter(forward);
  return counter && isBackwardFragment(backward) &&
         counter == getCallCounter(backward) &&
         forward.getStageIdAttr() == backward.getStageIdAttr() &&
         queues.getNext(forward) != backward;
}

/// The backward fragments to put a copy of `forward` before, in program order.
static SmallVector<Operation *> findReaders(FragmentOp forward,
                                            const MeshQueues &queues) {
  SetVector<Operation *> readers;
  for (Operation *user : forward->getUsers())
    if (auto backward = dyn_cast<FragmentOp>(user);
        backward && queues.contains(backward) &&
        needsRemat(forward, backward, queues))
      readers.insert(backward);
  auto sorted = llvm::to_vector(readers);
  llvm::sort(sorted,
             [&](Operation *a, Operation *b) { return queues.isBefore(a, b); });
  return sorted;
}

/// Clones `forward` in front of `backward`, which reads the clone from then on.
static FragmentOp cloneBefore(FragmentOp forward, FragmentOp backward,
                              RewriterBase &rewriter) {
  rewriter.setInsertionPoint(backward);
  auto clone = cast<FragmentOp>(rewriter.clone(*forward));
  // Its schedule has no place for it beside another one.
  clone->removeAttr(kOverlapAttr);
  rewriter.modifyOpInPlace(backward, [&] {
    for (OpOperand &operand : backward->getOpOperands())
      if (operand.get().getDefiningOp() == forward)
        operand.set(
            clone->getResult(cast<OpResult>(operand.get()).getResultNumber()));
  });
  return clone;
}

namespace {
/// What the forward fragments that are recomputed keep for less time.
class Savings {
public:
  /// Positions are those of the block before anything is recomputed.
  explicit Savings(Block &block) {
    for (Operation &op : block)
      positions.try_emplace(&op, positions.size());
  }

  /// Notes which results of `forward` the fragment `backward`, which is in the
  /// block, reads before they are recomputed for it.
  void addReads(FragmentOp forward, FragmentOp backward) {
    unsigned position = positions.at(backward);
    for (Value operand : backward->getOperands())
      if (operand.getDefiningOp() == forward &&
          isa<MeshTensorType>(operand.getType())) {
        unsigned &last = lastReads[operand];
        last = std::max(last, position);
      }
  }

  /// Notes that `merged` has replaced `fragment`, which may be gone by now.
  void replace(Operation *fragment, Operation *merged) {
    unsigned position = positions.at(fragment);
    positions.erase(fragment);
    positions[merged] = position;
  }

  /// Bytes of results that were kept until a backward fragment read them, and
  /// that nothing reads there or after it any more.
  uint64_t countBytes() const {
    uint64_t bytes = 0;
    for (auto &[result, position] : lastReads)
      if (!isReadFrom(result, position))
        bytes += meshwright::countBytes(
            cast<MeshTensorType>(result.getType()).getRankedTensorType());
    return bytes;
  }

private:
  bool isReadFrom(Value result, unsigned position) const {
    return llvm::any_of(result.getUsers(), [&](Operation *user) {
      auto known = positions.find(user);
      // The copies of fragments are new, and read for a backward fragment.
      return known == positions.end() || known->second >= position;
    });
  }

  DenseMap<Operation *, unsigned> positions;
  llvm::MapVector<Value, unsigned> lastReads;
};

/// Forward fragments that would be recomputed, were it not for effects.
class KeptForEffects {
public:
  void add(FragmentOp forward, Operation *effect) {
    if (count++ > 0)
      return;
    first = forward;
    firstEffect = effect;
  }

  void report() {
    if (count == 0)
      return;
    InFlightDiagnostic diag = first.emitRemark();
    diag << "is not recomputed for its backward fragment, because it has "
            "effects, which would happen twice; its results are kept";
    if (count > 1)
      diag << ", and so are those of " << count - 1 << " other fragment"
           << (count == 2 ? "" : "s");
    diag.attachNote(firstEffect->getLoc())
        << "this has effects; to recompute the rest, put it into a named "
           "computation of its own";
  }

private:
  FragmentOp first;
  Operation *firstEffect = nullptr;
  unsigned count = 0;
};

struct RematFragmentPass
    : mpmd::impl::RematFragmentPassBase<RematFragmentPass> {
  using Base::Base;

  void runOnFunction(func::FuncOp func) override {
    SmallVector<FragmentOp> forwards;
    llvm::copy_if(func.getOps<FragmentOp>(), std::back_inserter(forwards),
                  isForwardFragment);
    IRRewriter rewriter(&getContext());
    MeshQueues queues(func.front());
    Savings savings(func.front());
    KeptForEffects kept;
    unsigned count = 0;
    for (FragmentOp forward : forwards) {
      SmallVector<Operation *> readers = findReaders(forward, queues);
      if (readers.empty())
        continue;
      if (Operation *effect = findEffect(forward)) {
        kept.add(forward, effect);
        continue;
      }
      for (Operation *backward : readers) {
        savings.addReads(forward, cast<FragmentOp>(backward));
        Operation *now = rematerialize(forward, cast<FragmentOp>(backward),
                                       queues, rewriter);
        if (now != backward)
          savings.replace(backward, now);
        ++count;
      }
    }
    kept.report();
    if (count == 0)
      return;
    numFragments += count;
    uint64_t bytes = savings.countBytes();
    numBytes += bytes;
    remark::passed(func.getLoc(),
                   remark::RemarkOpts::name("recomputed").category("remat"))
        << remark::add(
               "{0} forward fragments are recomputed for their backward "
               "fragments; {1} bytes are no longer kept until these",
               count, bytes);
  }

private:
  /// Returns what the backward fragment is now.
  Operation *rematerialize(FragmentOp forward, FragmentOp backward,
                           MeshQueues &queues, RewriterBase &rewriter) {
    FragmentOp clone = cloneBefore(forward, backward, rewriter);
    if (!mergeRematFragments) {
      clone->setAttr(kRematAttr, rewriter.getUnitAttr());
      queues.insertBefore(clone, backward);
      return backward;
    }
    Attribute counter = backward->getAttr(kCallCounterAttr);
    Attribute overlap = backward->getAttr(kOverlapAttr);
    Operation *replaced = backward;
    FragmentOp merged = mergeFragments(clone, backward, rewriter);
    merged->setAttr(kCallCounterAttr, counter);
    if (overlap)
      merged->setAttr(kOverlapAttr, overlap);
    merged->setAttr(kRematAttr, rewriter.getUnitAttr());
    queues.replace(replaced, merged);
    return merged;
  }
};
} // namespace
