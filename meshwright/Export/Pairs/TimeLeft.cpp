//===- TimeLeft.cpp - How long a program takes after each op --------------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

#include "meshwright/Export/Pairs/TimeLeft.h"
#include "llvm/ADT/DenseMap.h"
#include <algorithm>

using namespace mlir;
using namespace mlir::mpmd;

std::vector<double> mpmd::measureTimeLeft(
    const BlockGraph &graph, const EdgeTable &readers,
    ArrayRef<std::vector<unsigned>> queues, ArrayRef<double> seconds,
    ArrayRef<OverlapCandidate> candidates, const llvm::BitVector &isLate) {
  llvm::DenseMap<unsigned, const OverlapCandidate *> candidateOf;
  for (const OverlapCandidate &candidate : candidates)
    for (unsigned member : candidate.members)
      candidateOf[member] = &candidate;
  llvm::DenseMap<unsigned, unsigned> nextOf;
  for (const std::vector<unsigned> &queue : queues) {
    std::optional<unsigned> last;
    for (unsigned op : queue) {
      if (isLate[op] && !candidateOf.contains(op))
        continue;
      if (last)
        nextOf[*last] = op;
      last = op;
    }
  }

  std::vector<double> left(graph.size(), 0);
  for (unsigned op = graph.size(); op-- > 0;) {
    const OverlapCandidate *own = candidateOf.lookup(op);
    auto addPath = [&](unsigned after) {
      const OverlapCandidate *other = candidateOf.lookup(after);
      double time = other ? other->seconds : seconds[after];
      // Members of a candidate end together.
      if (own && other == own)
        time = 0;
      left[op] = std::max(left[op], time + left[after]);
    };
    for (unsigned reader : readers[op])
      addPath(reader);
    if (auto next = nextOf.find(op); next != nextOf.end())
      addPath(next->second);
  }
  return left;
}
