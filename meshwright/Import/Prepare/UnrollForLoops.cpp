//===- UnrollForLoops.cpp - One copy of the body per iteration ------------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// A pipeline schedule interleaves iterations (microbatches), so they must exist
// one by one. A loop becomes straight-line code, and each op says by its
// `unroll_counter` which iteration it belongs to:
//
//   %r = mpmd.for (%x) {iterations = 2} (%s, %i) { return f(%s, %i) }
//   // becomes
//   %r0 = f(%x, 0)    {unroll_counter = 0}
//   %r  = f(%r0, 1)   {unroll_counter = 1}
//
// The loop index restarts at 0 in every loop; the counter runs on through the
// loops of a function, so that it names an iteration uniquely, but for those
// that say in `mpmd.first_counter` where theirs begins. All loops are checked
// before any is unrolled.
//
//===----------------------------------------------------------------------===//

#include "meshwright/Dialect/Mpmd/Fragments.h"
#include "meshwright/Dialect/Mpmd/MpmdDialect.h"
#include "meshwright/Dialect/StableHLO/StablehloDialect.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/PatternMatch.h"
#include "llvm/ADT/SmallVectorExtras.h"
#include "llvm/Support/MathExtras.h"

#define GEN_PASS_DEF_UNROLLFORLOOPSPASS
#include "meshwright/Import/Prepare/Passes.h"

using namespace mlir;
using namespace mlir::mpmd;

/// Of a loop: the counter of its first iteration, `ui32`.
static constexpr StringLiteral kFirstCounterAttr = "mpmd.first_counter";

/// The type of the constants that represent the index of `loop`; null if no
/// constant can.
static RankedTensorType getIndexType(ForOp loop) {
  BlockArgument index = loop.getIndexArg();
  if (isStablehloTensor(index.getType()))
    return cast<RankedTensorType>(index.getType());
  if (!index.use_empty())
    return {};
  Type ui32 = IntegerType::get(loop.getContext(), 32, IntegerType::Unsigned);
  return RankedTensorType::get({}, ui32);
}

static uint64_t countUnrolledOps(ForOp loop) {
  uint64_t perIteration = 0;
  loop->walk([&](Operation *) { ++perIteration; });
  return llvm::SaturatingMultiply<uint64_t>(perIteration, loop.getIterations());
}

static LogicalResult verifyUnrollable(ForOp loop, int64_t maxOps) {
  if (loop->getParentOfType<ForOp>())
    return loop.emitError()
           << "Nested for loops aren't supported; write one loop over all "
              "iterations, or repeat the body of the inner one";
  uint32_t iterations = loop.getIterations();
  std::optional<uint32_t> factor = loop.getUnrollFactor();
  if (!factor)
    return loop.emitError()
           << "loop of " << iterations
           << " iterations has no unroll_factor; only full unrolling is "
              "supported, set it to "
           << iterations;
  if (*factor != iterations)
    return loop.emitError()
           << "loop of " << iterations << " iterations has unroll_factor "
           << *factor << "; only full unrolling is supported, set it to "
           << iterations;
  if (!getIndexType(loop))
    return loop.emitError()
           << "loop index has type " << loop.getIndexArg().getType()
           << "; unrolling needs tensor<ui32>";
  for (Operation &op : *loop.getBody())
    if (!loop.mayMoveOut(&op))
      return op.emitError()
             << "would be right in a `" << loop->getParentOp()->getName()
             << "` if the loop were unrolled, but may be in functions and "
                "loops only; expected the loop right in a function";
  if (Attribute first = loop->getAttr(kFirstCounterAttr)) {
    auto number = dyn_cast<IntegerAttr>(first);
    if (!number || !number.getType().isUnsignedInteger(32))
      return loop.emitError() << kFirstCounterAttr << " is " << first
                              << "; expected a number of type ui32";
  }
  if (uint64_t count = countUnrolledOps(loop);
      count > static_cast<uint64_t>(std::max<int64_t>(maxOps, 0)))
    return loop.emitError()
           << "unrolling " << iterations << " iterations would make " << count
           << " operations; expected at most " << maxOps
           << ", let the loop do fewer iterations, or allow more by the option "
              "mpmd_max_inlined_ops of a configuration, max-inlined-ops of a "
              "pass";
  return success();
}

/// Replaces `loop` by one copy of its body per iteration, counted from
/// `firstCounter`.
static void unroll(ForOp loop, uint32_t firstCounter, RewriterBase &rewriter) {
  Type ui32 = rewriter.getIntegerType(32, /*isSigned=*/false);
  RankedTensorType indexType = getIndexType(loop);
  Block &body = loop->getRegion(0).front();
  rewriter.setInsertionPoint(loop);

  SmallVector<Value> carried(loop->getOperands());
  for (uint32_t k = 0, e = loop.getIterations(); k != e; ++k) {
    IntegerAttr counter = rewriter.getIntegerAttr(ui32, firstCounter + k);
    auto index = stablehlo::ConstantOp::create(
        rewriter, loop.getLoc(),
        DenseElementsAttr::get(indexType, APInt(32, k)));
    index->setAttr(kUnrollCounterAttr, counter);

    IRMapping mapping;
    mapping.map(body.getArguments().drop_back(), carried);
    if (!body.getArguments().back().use_empty())
      mapping.map(body.getArguments().back(), index->getResult(0));
    for (Operation &op : body.without_terminator()) {
      Operation *clone = rewriter.clone(op, mapping);
      if (!isa<ModuleOp>(clone)) // Its attributes need the name of a dialect.
        clone->setAttr(kUnrollCounterAttr, counter);
    }
    // Taken from the previous iteration as a whole: a body may swap values.
    carried =
        llvm::map_to_vector(body.getTerminator()->getOperands(), [&](Value v) {
          return mapping.lookupOrDefault(v);
        });
  }
  rewriter.replaceOp(loop, carried);
}

namespace {
struct UnrollForLoopsPass
    : mpmd::impl::UnrollForLoopsPassBase<UnrollForLoopsPass> {
  using Base::Base;

  void runOnFunction(func::FuncOp func) override {
    SmallVector<ForOp> loops;
    bool valid = true;
    func.walk<WalkOrder::PreOrder>([&](ForOp loop) {
      loops.push_back(loop);
      valid &= succeeded(verifyUnrollable(loop, maxInlinedOps));
    });
    if (!valid)
      return signalPassFailure();

    IRRewriter rewriter(&getContext());
    uint32_t counter = 0;
    for (ForOp loop : loops) {
      ++numLoops;
      if (auto first = loop->getAttrOfType<IntegerAttr>(kFirstCounterAttr)) {
        unroll(loop, static_cast<uint32_t>(first.getUInt()), rewriter);
        continue;
      }
      uint32_t iterations = loop.getIterations();
      unroll(loop, counter, rewriter);
      counter += iterations;
    }
  }
};
} // namespace
