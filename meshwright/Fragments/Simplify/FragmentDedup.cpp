//===- FragmentDedup.cpp --------------------------------------------------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// Fragments may read a value twice and return a value twice. Uses of the
// repetitions are redirected to the first occurrence:
//
//   %0:2 = fragment<"m", ["f"]> (%x, %x) (%a, %b) {
//     %s = add %a, %b
//     return %s, %s
//   }
//   return %0#0, %0#1
//   // becomes
//   %0:2 = fragment<"m", ["f"]> (%x, %x) (%a, %b) {
//     %s = add %a, %a
//     return %s, %s
//   }
//   return %0#0, %0#0
//
// The lists keep their lengths; mpmd-fragment-dce shortens them. One forward
// sweep is enough: what a producer returns twice is found to be read twice when
// the sweep reaches the consumer.
//
//===----------------------------------------------------------------------===//

#include "meshwright/Dialect/Mpmd/MemoryKinds.h"
#include "meshwright/Fragments/FragmentWalk.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/STLExtras.h"

#define GEN_PASS_DEF_FRAGMENTDEDUPPASS
#include "meshwright/Fragments/Simplify/Passes.h"

using namespace mlir;
using namespace mlir::mpmd;

/// Returns how many are no longer read.
static unsigned dedupOperands(FragmentOp fragment) {
  unsigned count = 0;
  DenseMap<Value, BlockArgument> first;
  Block &body = fragment.getRegion().front();
  // Control operands have no argument, hence the shorter of the two lists.
  for (auto [argument, operand] :
       llvm::zip_first(body.getArguments(), fragment->getOperands())) {
    auto [it, isNew] = first.try_emplace(operand, argument);
    if (isNew || argument.use_empty())
      continue;
    argument.replaceAllUsesWith(it->second);
    ++count;
  }
  return count;
}

static unsigned dedupResults(FragmentOp fragment) {
  unsigned count = 0;
  DenseMap<std::pair<Value, Type>, Value> first;
  Operation *terminator = fragment.getRegion().front().getTerminator();
  for (auto [returned, result] :
       llvm::zip_equal(terminator->getOperands(), fragment->getResults())) {
    auto [it, isNew] = first.try_emplace({returned, result.getType()}, result);
    if (isNew || result.use_empty() || !isOnHostAs(result, it->second))
      continue;
    result.replaceAllUsesWith(it->second);
    ++count;
  }
  return count;
}

namespace {
struct FragmentDedupPass
    : mpmd::impl::FragmentDedupPassBase<FragmentDedupPass> {
  void runOnFunction(func::FuncOp func) override {
    walkOutsideFragments<FragmentOp>(func, [&](FragmentOp fragment) {
      numValues += dedupOperands(fragment);
      numValues += dedupResults(fragment);
    });
  }
};
} // namespace
