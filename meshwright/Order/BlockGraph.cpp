//===- BlockGraph.cpp - Who reads whom in a block -------------------------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

#include "meshwright/Order/BlockGraph.h"
#include "meshwright/Order/EffectOrder.h"
#include "mlir/IR/OpDefinition.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/Compiler.h"

using namespace mlir;
using namespace mlir::mpmd;

EdgeTable::EdgeTable(ArrayRef<Edge> edges, size_t numNodes)
    : starts(numNodes + 1), targets(edges.size()) {
  for (auto [from, to] : edges)
    ++starts[from];
  unsigned end = 0;
  for (unsigned &start : starts)
    start = end += start;
  for (auto [from, to] : llvm::reverse(edges))
    targets[--starts[from]] = to;
}

BlockGraph::BlockGraph(Block &block, Effects effects) : block(block) {
  for (Operation &op : getOpsBeforeTerminator(block)) {
    ops.push_back(&op);
    // In a large block this walk waits for each op to come from memory; what
    // the op reads can come meanwhile.
    LLVM_PREFETCH(op.getOpOperands().data(), /*rw=*/0, /*locality=*/3);
  }
  positions.reserve(ops.size());
  for (auto [position, op] : llvm::enumerate(ops))
    positions.try_emplace(op, position);
  std::vector<EdgeTable::Edge> pairs; // By what comes second.
  if (effects == Effects::AsInBlock)
    forEachEffectPair(block, [&](Operation *first, Operation *second) {
      pairs.emplace_back(positions.at(first), positions.at(second));
    });
  ArrayRef<EdgeTable::Edge> left = pairs;
  starts.reserve(ops.size() + 1);
  starts.push_back(0);
  for (auto [position, op] : llvm::enumerate(ops)) {
    addReads(op);
    for (; !left.empty() && left.front().second == position;
         left = left.drop_front())
      addProducer(left.front().first);
    starts.push_back(producers.size());
  }
}

void BlockGraph::addReads(Operation *op) {
  unsigned reader = starts.size() - 1;
  auto addOperands = [&](Operation *nested) {
    for (Value operand : nested->getOperands()) {
      Operation *producer = operand.getDefiningOp();
      if (producer && producer->getBlock() != &block)
        producer = block.findAncestorOpInBlock(*producer);
      auto it = producer ? positions.find(producer) : positions.end();
      if (it == positions.end() || it->second == reader)
        continue;
      addProducer(it->second);
    }
  };
  addOperands(op);
  // What is isolated reads nothing of this block.
  if (op->getNumRegions() == 0 || op->hasTrait<OpTrait::IsIsolatedFromAbove>())
    return;
  for (Region &region : op->getRegions())
    region.walk<WalkOrder::PreOrder>([&](Operation *nested) {
      addOperands(nested);
      bool skip = nested->hasTrait<OpTrait::IsIsolatedFromAbove>();
      return skip ? WalkResult::skip() : WalkResult::advance();
    });
}

EdgeTable BlockGraph::getReaders() const {
  std::vector<EdgeTable::Edge> edges;
  edges.reserve(producers.size());
  for (unsigned reader = 0; reader < size(); ++reader)
    for (unsigned producer : getProducers(reader))
      edges.emplace_back(producer, reader);
  return EdgeTable(edges, size());
}
