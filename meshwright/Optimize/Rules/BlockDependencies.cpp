//===- BlockDependencies.cpp - Who must run before whom -------------------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

#include "meshwright/Optimize/Rules/BlockDependencies.h"

using namespace mlir;
using namespace mlir::mpmd;

BlockDependencies::BlockDependencies(Block &block)
    : graph(block), predecessors(graph.size()), lowestTarget(graph.size()),
      found(graph.size()) {}

void BlockDependencies::addEdge(unsigned from, unsigned to) {
  predecessors[to].push_back(from);
  if (to < from)
    lowestTarget = std::min(lowestTarget, to);
}

bool BlockDependencies::hasPath(unsigned from, unsigned to) {
  if (from >= to)
    return false;
  // A path cannot come to what is before these.
  unsigned lowest = std::min(from, lowestTarget);
  ++search;
  SmallVector<unsigned> stack = {to};
  auto enter = [&](unsigned position) {
    if (position >= to || position < lowest || found[position] == search)
      return;
    found[position] = search;
    stack.push_back(position);
  };
  while (!stack.empty() && found[from] != search) {
    unsigned position = stack.pop_back_val();
    for (unsigned producer : graph.getProducers(position))
      enter(producer);
    for (unsigned predecessor : predecessors[position])
      enter(predecessor);
  }
  return found[from] == search;
}
