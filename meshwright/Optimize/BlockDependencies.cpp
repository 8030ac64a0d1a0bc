//===- BlockDependencies.cpp - Who must run before whom -------------------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

#include "meshwright/Optimize/BlockDependencies.h"
#include "mlir/IR/Value.h"

using namespace mlir;
using namespace mlir::mpmd;

BlockDependencies::BlockDependencies(Block &block) {
  for (Operation &op : block)
    positions.try_emplace(&op, positions.size());
  successors.resize(positions.size());
  predecessors.resize(positions.size());
  for (Operation &op : block) {
    unsigned from = positions.at(&op);
    for (Operation *user : op.getUsers())
      if (Operation *ancestor = block.findAncestorOpInBlock(*user))
        addEdge(from, positions.at(ancestor));
  }
}

void BlockDependencies::addEdge(unsigned from, unsigned to) {
  successors[from].push_back(to);
  predecessors[to].push_back(from);
}

llvm::BitVector BlockDependencies::findAncestors(unsigned to) const {
  llvm::BitVector found(successors.size());
  SmallVector<unsigned> stack = {to};
  while (!stack.empty())
    for (unsigned position : predecessors[stack.pop_back_val()])
      if (position < to && !found.test(position)) {
        found.set(position);
        stack.push_back(position);
      }
  return found;
}

bool BlockDependencies::hasPath(unsigned from, unsigned to) const {
  return from < to && findAncestors(to).test(from);
}

ForwardPaths::ForwardPaths(BlockDependencies &graph, unsigned from)
    : graph(graph), from(from), limit(from), reached(graph.getPositionCount()) {
  enter(from);
}

/// Marks what can be reached from a position without leaving the limit.
void ForwardPaths::enter(unsigned position) {
  SmallVector<unsigned> stack = {position};
  reached.set(position);
  while (!stack.empty())
    for (unsigned next : graph.getSuccessors(stack.pop_back_val())) {
      if (reached.test(next))
        continue;
      if (next > limit) {
        waiting.push(next);
        continue;
      }
      reached.set(next);
      stack.push_back(next);
    }
}

bool ForwardPaths::reaches(unsigned to) {
  assert(to >= limit && "questions must ascend");
  limit = to;
  while (!waiting.empty() && waiting.top() <= limit) {
    unsigned position = waiting.top();
    waiting.pop();
    if (!reached.test(position))
      enter(position);
  }
  return reached.test(to);
}

void ForwardPaths::addEdge(unsigned to) {
  graph.addEdge(from, to);
  if (to > limit)
    waiting.push(to);
  else if (!reached.test(to))
    enter(to);
}
