//===- DelayInferredFragments.cpp -----------------------------------------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// A result takes memory from where it is computed to where it is read last.
// The user did not choose the place of an inferred fragment, so it may as well run when
// its result is needed:
//
//   %0 = fragment<"m", []> (%x)            %1 = fragment<"m", ["g"]> (%y)
//   %1 = fragment<"m", ["g"]> (%y)    ->   %0 = fragment<"m", []> (%x)
//   %2 = fragment<"m", ["f"]> (%0, %1)     %2 = fragment<"m", ["f"]> (%0, %1)
//
// From the end of the block, so that what an inferred fragment reads follows
// it. One that has effects waits only until the next effect of its mesh.
//
//===----------------------------------------------------------------------===//

#include "meshwright/Dialect/Mpmd/Fragments.h"
#include "meshwright/Fragments/AlikeUnits.h"
#include "meshwright/Order/BlockOrder.h"
#include "meshwright/Order/EffectOrder.h"

#define GEN_PASS_DEF_DELAYINFERREDFRAGMENTSPASS
#include "meshwright/Export/Passes.h"

using namespace mlir;
using namespace mlir::mpmd;

namespace {
struct DelayInferredFragmentsPass
    : mpmd::impl::DelayInferredFragmentsPassBase<DelayInferredFragmentsPass> {
  void runOnFunction(func::FuncOp func) override {
    BlockOrder order;
    IRRewriter rewriter(func.getContext(), &order);
    EffectOrder effects(func.front());
    // Listed first: an op that moves backwards would be met twice.
    auto fragments = llvm::to_vector(func.front().getOps<FragmentOp>());
    for (FragmentOp fragment : llvm::reverse(fragments)) {
      if (isSubstitute(fragment)) {
        // Nothing else waits for what is in the place of other microbatches.
        Operation *user = order.getFirstUser(fragment);
        rewriter.moveOpBefore(fragment,
                              user ? user : func.front().getTerminator());
      }
      if (isInferredFragment(fragment))
        if (Operation *user = order.getFirstUser(fragment)) {
          Operation *next =
              effects.contains(fragment) ? effects.getNext(fragment) : nullptr;
          bool waitsForUser = !next || order.isBefore(user, next);
          Operation *place = waitsForUser ? user : next;
          numMoved += fragment->getNextNode() != place;
          rewriter.moveOpBefore(fragment, place);
        }
    }
  }
};
} // namespace
