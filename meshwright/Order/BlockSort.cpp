//===- BlockSort.cpp - Stable topological order of a block ----------------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// The sweep in which an op is taken follows from those of its producers: the
// same one if the producer is before the op, the next one otherwise; an op
// without producers is taken in sweep 0. Within a sweep the old order stays.
// Mostly, producers are before their readers, so one walk along the block
// finds the sweeps; what is missing is asked for depth first.
//
// A constraint between two large groups goes through a node of its own, which
// remembers the latest of the one group: its last sweep, and the last position
// in that sweep. That is all that the other group needs to know.
//
//===----------------------------------------------------------------------===//

#include "meshwright/Order/BlockSort.h"
#include "mlir/Analysis/TopologicalSortUtils.h"
#include "llvm/ADT/STLExtras.h"

using namespace mlir;
using namespace mlir::mpmd;

void OrderConstraints::add(ArrayRef<unsigned> before,
                           ArrayRef<unsigned> after) {
  if (before.size() == 1 || after.size() == 1) {
    for (unsigned first : before)
      for (unsigned second : after)
        add(first, second);
    return;
  }
  unsigned between = numNodes++;
  for (unsigned first : before)
    add(first, between);
  for (unsigned second : after)
    add(between, second);
}

namespace {
class SweepSorter {
public:
  using Producers = function_ref<ArrayRef<unsigned>(unsigned)>;

  /// What an op reads is asked for while sweeps are computed.
  SweepSorter(Producers getProducers, const OrderConstraints &constraints);

  /// Returns false if there is a cycle.
  bool computeSweeps();
  /// The ops in the order in which the sweeps take them.
  std::vector<unsigned> listOps() const;
  std::vector<unsigned> takeSweeps() { return std::move(sweeps); }

private:
  enum class State : char { Unseen, Open, Done };

  struct Visit {
    unsigned node;
    ArrayRef<unsigned> producers, constrained; ///< Those left.
  };

  void open(unsigned node);
  bool visit(unsigned node);
  void propagate(unsigned producer, unsigned reader);

  Producers getProducers;
  const OrderConstraints &constraints;
  EdgeTable constrained; ///< What must precede a node.
  std::vector<unsigned> sweeps;
  /// Of an op itself; between groups, of the latest op so far.
  std::vector<unsigned> positions;
  std::vector<State> states;
  SmallVector<Visit> stack;
};
} // namespace

/// The constraints, from what comes second to what comes first.
static EdgeTable turnAround(const OrderConstraints &constraints) {
  std::vector<OrderConstraints::Edge> edges;
  edges.reserve(constraints.getEdges().size());
  for (auto [before, after] : constraints.getEdges())
    edges.emplace_back(after, before);
  return EdgeTable(edges, constraints.getNodeCount());
}

SweepSorter::SweepSorter(Producers getProducers,
                         const OrderConstraints &constraints)
    : getProducers(getProducers), constraints(constraints),
      constrained(turnAround(constraints)), sweeps(constraints.getNodeCount()),
      positions(constraints.getNodeCount()),
      states(constraints.getNodeCount()) {
  for (unsigned position = 0; position < constraints.getOpCount(); ++position)
    positions[position] = position;
}

void SweepSorter::open(unsigned node) {
  states[node] = State::Open;
  ArrayRef<unsigned> producers;
  if (constraints.isOp(node))
    producers = getProducers(node);
  stack.push_back({node, producers, constrained[node]});
}

void SweepSorter::propagate(unsigned producer, unsigned reader) {
  if (constraints.isOp(reader)) {
    unsigned sweep = sweeps[producer] + (positions[producer] > reader);
    sweeps[reader] = std::max(sweeps[reader], sweep);
    return;
  }
  auto latest = std::max(std::pair(sweeps[reader], positions[reader]),
                         std::pair(sweeps[producer], positions[producer]));
  std::tie(sweeps[reader], positions[reader]) = latest;
}

/// Returns false if the node waits for itself.
bool SweepSorter::visit(unsigned node) {
  open(node);
  while (!stack.empty()) {
    Visit &top = stack.back();
    ArrayRef<unsigned> &left =
        top.producers.empty() ? top.constrained : top.producers;
    if (left.empty()) {
      states[top.node] = State::Done;
      stack.pop_back();
      continue;
    }
    switch (unsigned producer = left.front(); states[producer]) {
    case State::Done:
      propagate(producer, top.node);
      left = left.drop_front();
      break;
    case State::Open:
      return false;
    case State::Unseen:
      open(producer);
      break;
    }
  }
  return true;
}

bool SweepSorter::computeSweeps() {
  for (unsigned node = 0; node < states.size(); ++node)
    if (states[node] == State::Unseen && !visit(node))
      return false;
  return true;
}

std::vector<unsigned> SweepSorter::listOps() const {
  unsigned numOps = constraints.getOpCount();
  // Where each sweep begins, then where its next op goes.
  std::vector<unsigned> ends;
  for (unsigned position = 0; position < numOps; ++position) {
    unsigned sweep = sweeps[position];
    if (sweep + 1 >= ends.size())
      ends.resize(sweep + 2);
    ++ends[sweep + 1];
  }
  for (unsigned sweep = 1; sweep < ends.size(); ++sweep)
    ends[sweep] += ends[sweep - 1];
  std::vector<unsigned> order(numOps);
  for (unsigned position = 0; position < numOps; ++position)
    order[ends[sweeps[position]]++] = position;
  return order;
}

std::optional<SortedOps>
mlir::mpmd::findSortedOrder(const EdgeTable &producers,
                            const OrderConstraints &constraints) {
  auto getProducers = [&](unsigned position) { return producers[position]; };
  SweepSorter sorter(getProducers, constraints);
  if (!sorter.computeSweeps())
    return std::nullopt;
  std::vector<unsigned> order = sorter.listOps();
  return SortedOps{std::move(order), sorter.takeSweeps()};
}

bool mlir::mpmd::sortBlockTopologically(const BlockGraph &graph,
                                        const OrderConstraints &constraints) {
  if (graph.isSorted() && constraints.getEdges().empty())
    return true;
  auto getProducers = [&](unsigned position) {
    return graph.getProducers(position);
  };
  SweepSorter sorter(getProducers, constraints);
  if (!sorter.computeSweeps())
    return false;
  Block::iterator next = graph.getBlock().begin();
  for (unsigned position : sorter.listOps())
    if (Operation *op = graph.getOp(position); &*next == op)
      ++next;
    else
      op->moveBefore(&graph.getBlock(), next);
  return true;
}

bool mlir::mpmd::sortBlockTopologically(Block &block) {
  // Where ops are before what they read, their effects may contradict that.
  for (auto effects :
       {BlockGraph::Effects::AsInBlock, BlockGraph::Effects::Ignored}) {
    BlockGraph graph(block, effects);
    if (sortBlockTopologically(graph, OrderConstraints(graph)))
      return true;
  }
  // Has a cycle; as sorted as can be.
  return sortTopologically(&block, getOpsBeforeTerminator(block));
}
