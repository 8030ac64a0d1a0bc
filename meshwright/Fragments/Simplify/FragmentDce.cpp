//===- FragmentDce.cpp ----------------------------------------------------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// Upstream dead code elimination removes a fragment as a whole or not at all.
// This pass removes single results, what only they need in the body, and
// operands that are then read no more:
//
//   %0:2 = fragment<"m", ["f"]> (%x, %y) (%a, %b) {
//     %s = abs %a; %t = sine %b; return %s, %t
//   }
//   return %0#1
//   // becomes
//   %0 = fragment<"m", ["f"]> (%y) (%b) {%t = sine %b; return %t}
//   return %0
//
// The sweep goes from the last op to the first. Users are done when their
// producers are reached, so that chains of dead fragments and transfers vanish
// at once.
//
//===----------------------------------------------------------------------===//

#include "meshwright/Dialect/Mpmd/Fragments.h"
#include "meshwright/Fragments/SharedBodies.h"
#include "meshwright/IR/RebuildOp.h"
#include "mlir/IR/Iterators.h"
#include "mlir/IR/PatternMatch.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "mlir/Transforms/RegionUtils.h"
#include "llvm/ADT/BitVector.h"
#include "llvm/ADT/STLExtras.h"

#define GEN_PASS_DEF_FRAGMENTDCEPASS
#include "meshwright/Fragments/Simplify/Passes.h"

using namespace mlir;
using namespace mlir::mpmd;

/// Returns the fragment without its unused results, or the same one if there
/// are none.
static FragmentOp dropUnusedResults(FragmentOp fragment,
                                    RewriterBase &rewriter) {
  BitVector isUnused(fragment->getNumResults());
  SmallVector<Value> used;
  for (OpResult result : fragment->getResults()) {
    if (result.use_empty())
      isUnused.set(result.getResultNumber());
    else
      used.push_back(result);
  }
  if (isUnused.none())
    return fragment;

  fragment.getRegion().front().getTerminator()->eraseOperands(isUnused);
  auto rebuilt =
      cast<FragmentOp>(rebuildOp(fragment, fragment->getOperands(),
                                 TypeRange(ValueRange(used)), rewriter));
  dropResAttrs(rebuilt, isUnused);
  for (auto [result, replacement] :
       llvm::zip_equal(used, rebuilt->getResults()))
    rewriter.replaceAllUsesWith(result, replacement);
  rewriter.eraseOp(fragment);
  return rebuilt;
}

/// Drops operands whose block argument is not used. Control operands have no
/// argument and stay.
static void dropUnusedOperands(FragmentOp fragment) {
  Block &body = fragment.getRegion().front();
  BitVector isUnused(fragment->getNumOperands());
  for (BlockArgument argument : body.getArguments())
    if (argument.use_empty())
      isUnused.set(argument.getArgNumber());
  dropArgAttrs(fragment, isUnused);
  fragment->eraseOperands(isUnused);
  isUnused.resize(body.getNumArguments());
  body.eraseArguments(isUnused);
}

/// Whether region simplification may find something: most bodies have nothing
/// dead, as a look at the unused ops shows.
static bool mayBeSimplified(FragmentOp fragment) {
  return fragment
      ->walk([](Operation *op) {
        bool hasBranches = llvm::any_of(op->getRegions(), [](Region &region) {
          return !region.empty() && !region.hasOneBlock();
        });
        return hasBranches || isOpTriviallyDead(op) ? WalkResult::interrupt()
                                                    : WalkResult::advance();
      })
      .wasInterrupted();
}

static bool isEmpty(FragmentOp fragment) {
  return fragment->getNumResults() == 0 && fragment->getNumOperands() == 0 &&
         llvm::hasSingleElement(fragment.getRegion().front());
}

namespace {
struct FragmentDcePass : mpmd::impl::FragmentDcePassBase<FragmentDcePass> {
  void runOnFunction(func::FuncOp func) override {
    IRRewriter rewriter(&getContext());
    func.walk<WalkOrder::PreOrder, ReverseIterator>([&](Operation *op) {
      if (auto fragment = dyn_cast<FragmentOp>(op)) {
        shrink(fragment, rewriter);
        return WalkResult::skip();
      }
      if (!isa<TransferOp>(op) || !op->use_empty())
        return WalkResult::advance();
      rewriter.eraseOp(op);
      ++numTransfers;
      return WalkResult::skip();
    });
  }

private:
  void shrink(FragmentOp fragment, RewriterBase &rewriter) {
    inlineSharedBodiesIfUnused(fragment, rewriter);
    fragment = dropUnusedResults(fragment, rewriter);
    if (mayBeSimplified(fragment)) // Success only means that it was.
      (void)simplifyRegions(rewriter, fragment->getRegions(),
                            /*mergeBlocks=*/false);
    dropUnusedOperands(fragment);
    if (!isEmpty(fragment))
      return;
    rewriter.eraseOp(fragment);
    ++numFragments;
  }
};
} // namespace
