//===- OnlineOrder.cpp - A topological order that edges join --------------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

#include "meshwright/Optimize/Scheduler/Order/OnlineOrder.h"
#include "llvm/ADT/STLExtras.h"
#include <queue>

using namespace mlir;
using namespace mlir::mpmd;

namespace {
/// Takes ops whose producers are taken and whose constraints are met; where there
/// is none, the first one whose producers are taken.
class LikelyOrder {
public:
  LikelyOrder(const BlockGraph &graph, const OrderConstraints &constraints);

  std::vector<unsigned> run();

private:
  void take(unsigned node);
  void offer(unsigned node) {
    if (numReads[node] > 0)
      return;
    if (numConstraints[node] == 0)
      ready.push_back(node);
    else if (constraints.isOp(node))
      waiting.push(node);
  }

  const OrderConstraints &constraints;
  EdgeTable readers, constrained;
  /// What a node still waits for.
  std::vector<unsigned> numReads, numConstraints;
  std::vector<bool> taken;
  std::vector<unsigned> ready, order;
  std::priority_queue<unsigned, std::vector<unsigned>, std::greater<unsigned>>
      waiting;
};
} // namespace

LikelyOrder::LikelyOrder(const BlockGraph &graph,
                         const OrderConstraints &constraints)
    : constraints(constraints), readers(graph.getReaders()),
      constrained(constraints.getEdges(), constraints.getNodeCount()),
      numReads(constraints.getNodeCount()),
      numConstraints(constraints.getNodeCount()),
      taken(constraints.getNodeCount()) {
  order.reserve(graph.size());
  for (unsigned node = 0; node < graph.size(); ++node)
    numReads[node] = graph.getProducers(node).size();
  for (auto [before, after] : constraints.getEdges())
    ++numConstraints[after];
  for (unsigned node = constraints.getNodeCount(); node-- > 0;)
    offer(node);
}

void LikelyOrder::take(unsigned node) {
  taken[node] = true;
  auto count = [&](std::vector<unsigned> &counts, unsigned reader) {
    if (--counts[reader] == 0 && !taken[reader])
      offer(reader);
  };
  for (unsigned reader : constrained[node])
    count(numConstraints, reader);
  if (!constraints.isOp(node))
    return;
  order.push_back(node);
  for (unsigned reader : readers[node])
    count(numReads, reader);
}

std::vector<unsigned> LikelyOrder::run() {
  while (!ready.empty() || !waiting.empty()) {
    unsigned node;
    if (!ready.empty()) {
      node = ready.back();
      ready.pop_back();
    } else {
      node = waiting.top();
      waiting.pop();
    }
    if (!taken[node])
      take(node);
  }
  // What is left, is on a cycle.
  for (unsigned node = 0; node < numReads.size(); ++node)
    if (constraints.isOp(node) && !taken[node])
      order.push_back(node);
  return std::move(order);
}

std::vector<unsigned>
mlir::mpmd::findLikelyOrder(const BlockGraph &graph,
                            const OrderConstraints &constraints) {
  return LikelyOrder(graph, constraints).run();
}

OnlineOrder::OnlineOrder(const BlockGraph &graph, ArrayRef<unsigned> order)
    : graph(graph), predecessors(graph.size()), next(graph.size() + 1),
      previous(graph.size() + 1), labels(graph.size() + 1),
      found(graph.size()) {
  assert(order.size() == graph.size() && "each op has a place");
  unsigned last = graph.size();
  for (unsigned node : order) {
    link(last, node);
    last = node;
  }
  link(last, graph.size());
  relabel();
}

void OnlineOrder::relabel() {
  Label step = ~Label(0) / labels.size(), label = 0;
  for (unsigned node = next[graph.size()]; node != graph.size();
       node = next[node])
    labels[node] = label += step;
  labels[graph.size()] = ~Label(0);
}

void OnlineOrder::addEdge(unsigned before, unsigned after) {
  edges.emplace_back(before, after);
  predecessors[after].push_back(before);
}

bool OnlineOrder::precedes(unsigned before, unsigned after) {
  if (labels[before] >= labels[after])
    return false;
  ++search;
  // The earliest first: it is the furthest on a way to what is earlier still.
  using Found = std::pair<Label, unsigned>;
  std::priority_queue<Found, std::vector<Found>, std::greater<Found>> waiting;
  auto enter = [&](unsigned ancestor) {
    if (labels[ancestor] < labels[before] || isFound(ancestor))
      return;
    found[ancestor] = search;
    waiting.emplace(labels[ancestor], ancestor);
  };
  waiting.emplace(labels[after], after);
  while (!waiting.empty() && !isFound(before)) {
    unsigned node = waiting.top().second;
    waiting.pop();
    for (unsigned producer : graph.getProducers(node))
      enter(producer);
    for (unsigned predecessor : predecessors[node])
      enter(predecessor);
  }
  return isFound(before);
}

void OnlineOrder::findAncestors(unsigned node, Label bound, Visitor visit) {
  ++search;
  descendant = node;
  ancestors.clear();
  std::priority_queue<std::pair<Label, unsigned>> waiting;
  auto enter = [&](unsigned ancestor) {
    if (labels[ancestor] < bound || isFound(ancestor))
      return;
    found[ancestor] = search;
    waiting.emplace(labels[ancestor], ancestor);
  };
  auto enterPredecessors = [&](unsigned of) {
    for (unsigned producer : graph.getProducers(of))
      enter(producer);
    for (unsigned predecessor : predecessors[of])
      enter(predecessor);
  };
  enterPredecessors(node);
  while (!waiting.empty() && waiting.top().first >= bound) {
    unsigned ancestor = waiting.top().second;
    waiting.pop();
    ancestors.push_back(ancestor);
    bound = visit(ancestor, bound);
    enterPredecessors(ancestor);
  }
}

ArrayRef<unsigned> OnlineOrder::moveBefore(unsigned target) {
  moved.assign({descendant});
  for (unsigned ancestor : ancestors)
    if (labels[ancestor] > labels[target])
      moved.push_back(ancestor);
  std::reverse(moved.begin(), moved.end());
  for (unsigned node : moved)
    link(previous[node], next[node]);
  unsigned last = previous[target];
  Label low = last == graph.size() ? 0 : labels[last];
  Label step = (labels[target] - low) / (moved.size() + 1);
  for (unsigned node : moved) {
    link(last, node);
    labels[node] = low += step;
    last = node;
  }
  link(last, target);
  if (step == 0)
    relabel();
  return moved;
}
