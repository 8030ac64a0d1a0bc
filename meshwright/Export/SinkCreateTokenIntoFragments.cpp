//===- SinkCreateTokenIntoFragments.cpp -----------------------------------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// Tokens order effects inside of one fragment. Between fragments, which run in
// the order of the program, they say nothing, and no executor could pass them:
//
//   %0:2 = fragment (%t, %x) (%k: token, %a) {… ; return %o, %a}
//   // becomes
//   %0 = fragment (%x) (%a) {%k = create_token ; … ; return %a}
//
// First fragments stop to read tokens, so that then nothing is left that reads
// the tokens they return.
//
//===----------------------------------------------------------------------===//

#include "meshwright/Dialect/Mpmd/Fragments.h"
#include "meshwright/Dialect/StableHLO/StablehloDialect.h"
#include "meshwright/IR/RebuildOp.h"
#include "llvm/ADT/BitVector.h"

#define GEN_PASS_DEF_SINKCREATETOKENINTOFRAGMENTSPASS
#include "meshwright/Export/Passes.h"

using namespace mlir;
using namespace mlir::mpmd;

static llvm::BitVector findTokens(TypeRange types) {
  llvm::BitVector tokens(types.size());
  for (auto [index, type] : llvm::enumerate(types))
    if (isa<stablehlo::TokenType>(type))
      tokens.set(index);
  return tokens;
}

/// A token that a fragment returns may be read by fragments of the same block
/// only, which do not need it.
static LogicalResult checkTokens(FragmentOp fragment) {
  for (OpResult result : fragment->getResults())
    for (OpOperand &use : result.getUses())
      if (isa<stablehlo::TokenType>(result.getType()) &&
          (!isa<FragmentOp>(use.getOwner()) ||
           use.getOwner()->getBlock() != fragment->getBlock()))
        return (fragment.emitError()
                << "token that is result #" << result.getResultNumber()
                << " must stay within fragments of this function")
                   .attachNote(use.getOwner()->getLoc())
               << "this reads it";
  return success();
}

template <typename Attr, typename Range>
static auto withoutDropped(Range &&entries, const llvm::BitVector &dropped) {
  SmallVector<Attr> kept;
  for (auto [index, entry] : llvm::enumerate(entries))
    if (index >= dropped.size() || !dropped[index])
      kept.push_back(entry);
  return kept;
}

static sdy::TensorShardingPerValueAttr
dropShardings(sdy::TensorShardingPerValueAttr shardings,
              const llvm::BitVector &dropped) {
  if (!shardings)
    return {};
  return sdy::TensorShardingPerValueAttr::get(
      shardings.getContext(),
      withoutDropped<sdy::TensorShardingAttr>(shardings, dropped));
}

/// Makes the fragment create the tokens that it was given, if any.
static bool createTokensInside(FragmentOp fragment) {
  llvm::BitVector tokens = findTokens(fragment->getOperandTypes());
  if (tokens.none())
    return false;
  Block &body = fragment.getRegion().front();
  OpBuilder builder = OpBuilder::atBlockBegin(&body);
  for (unsigned index : tokens.set_bits())
    body.getArgument(index).replaceAllUsesWith(
        stablehlo::CreateTokenOp::create(builder, fragment.getLoc()));
  body.eraseArguments(tokens);
  fragment->eraseOperands(tokens);
  fragment.setInShardingsAttr(
      dropShardings(fragment.getInShardingsAttr(), tokens));
  dropArgAttrs(fragment, tokens);
  return true;
}

/// Rebuilds a fragment that returns tokens without them.
static void dropReturnedTokens(FragmentOp fragment, RewriterBase &rewriter) {
  llvm::BitVector tokens = findTokens(fragment->getResultTypes());
  if (tokens.none())
    return;
  fragment.getBody()->getTerminator()->eraseOperands(tokens);
  auto kept = withoutDropped<Value>(fragment->getResults(), tokens);
  rewriter.setInsertionPoint(fragment);
  auto rebuilt =
      cast<FragmentOp>(rebuildOp(fragment, fragment->getOperands(),
                                 ValueRange(kept).getTypes(), rewriter));
  rebuilt.setOutShardingsAttr(
      dropShardings(rebuilt.getOutShardingsAttr(), tokens));
  dropResAttrs(rebuilt, tokens);
  for (auto [from, to] : llvm::zip_equal(kept, rebuilt->getResults()))
    rewriter.replaceAllUsesWith(from, to);
  rewriter.eraseOp(fragment);
}

namespace {
struct SinkCreateTokenIntoFragmentsPass
    : mpmd::impl::SinkCreateTokenIntoFragmentsPassBase<
          SinkCreateTokenIntoFragmentsPass> {
  void runOnFunction(func::FuncOp func) override {
    auto fragments = llvm::to_vector(func.front().getOps<FragmentOp>());
    for (FragmentOp fragment : fragments)
      if (failed(checkTokens(fragment)))
        return signalPassFailure();
    for (FragmentOp fragment : fragments)
      numFragments += createTokensInside(fragment);
    IRRewriter rewriter(&getContext());
    for (FragmentOp fragment : fragments)
      dropReturnedTokens(fragment, rewriter);
  }
};
} // namespace
