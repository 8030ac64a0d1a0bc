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
// mesh, so that this is a lookup.
//
//===----------------------------------------------------------------------===//

#include "meshwright/Common/MergeFragments.h"
#include "meshwright/Dialect/Mpmd/Fragments.h"
#include "meshwright/Dialect/Mpmd/Functions.h"
#include "meshwright/Dialect/Mpmd/MpmdDialect.h"
#include "meshwright/Optimize/Passes.h"
#include "mlir/IR/PatternMatch.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/SetVector.h"

namespace mlir::mpmd {
#define GEN_PASS_DEF_REMATFRAGMENTPASS
#include "meshwright/Optimize/Passes.h.inc"
} // namespace mlir::mpmd

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

  /// Whether `a` stands before `b`; both have been there from the start, or
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
  rewriter.modifyOpInPlace(backward, [&] {
    for (OpOperand &operand : backward->getOpOperands())
      if (operand.get().getDefiningOp() == forward)
        operand.set(
            clone->getResult(cast<OpResult>(operand.get()).getResultNumber()));
  });
  return clone;
}

namespace {
struct RematFragmentPass
    : mpmd::impl::RematFragmentPassBase<RematFragmentPass> {
  using Base::Base;

  void runOnOperation() override {
    func::FuncOp func = getOperation();
    if (func.isDeclaration() || !isDistributedFunction(func))
      return markAllAnalysesPreserved();

    SmallVector<FragmentOp> forwards;
    llvm::copy_if(func.getOps<FragmentOp>(), std::back_inserter(forwards),
                  isForwardFragment);
    IRRewriter rewriter(&getContext());
    MeshQueues queues(func.front());
    for (FragmentOp forward : forwards)
      for (Operation *backward : findReaders(forward, queues)) {
        rematerialize(forward, cast<FragmentOp>(backward), queues, rewriter);
        ++numFragments;
      }
  }

private:
  void rematerialize(FragmentOp forward, FragmentOp backward,
                     MeshQueues &queues, RewriterBase &rewriter) {
    FragmentOp clone = cloneBefore(forward, backward, rewriter);
    if (!mergeRematFragments) {
      clone->setAttr(kRematAttr, rewriter.getUnitAttr());
      return queues.insertBefore(clone, backward);
    }
    Attribute counter = backward->getAttr(kCallCounterAttr);
    Operation *replaced = backward;
    FragmentOp merged = mergeFragments(clone, backward, rewriter);
    merged->setAttr(kCallCounterAttr, counter);
    merged->setAttr(kRematAttr, rewriter.getUnitAttr());
    queues.replace(replaced, merged);
  }
};
} // namespace
