//===- FreeTimes.cpp - Kernels that no collective waits for ---------------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

#include "meshwright/Cost/FreeTimes.h"
#include "meshwright/Dialect/Sdy/SdyDialect.h"
#include "llvm/ADT/STLExtras.h"

using namespace mlir;
using namespace meshwright;

double FreeTimes::count(Block &block, const llvm::BitVector &awaited) const {
  const auto &[kernels, times] = blocks.find(&block)->second;
  // Those that collectives wait for, and those that have some.
  llvm::DenseSet<Operation *> leading = times.exchanging;
  auto isAwaited = [&](OpOperand &use) {
    Operation *user = block.findAncestorOpInBlock(*use.getOwner());
    if (user == block.getTerminator())
      return awaited.test(use.getOperandNumber());
    return leading.contains(user);
  };
  std::vector<bool> isLeading(times.seconds.size());
  double free = 0;
  for (Operation &op : llvm::reverse(block.without_terminator())) {
    llvm::BitVector results(op.getNumResults());
    for (OpResult result : op.getResults())
      if (llvm::any_of(result.getUses(), isAwaited))
        results.set(result.getResultNumber());
    if (results.any())
      leading.insert(&op);
    auto nested = times.nested.find(&op);
    if (nested == times.nested.end())
      isLeading[kernels.get(&op)] =
          isLeading[kernels.get(&op)] || leading.contains(&op);
    else if (isa<sdy::ManualComputationOp, sdy::NamedComputationOp>(op))
      free += count(op.getRegion(0).front(), results);
    else if (results.none())
      free += nested->second;
  }
  for (auto [kernel, seconds] : llvm::enumerate(times.seconds))
    free += isLeading[kernel] ? 0 : seconds;
  return free;
}
