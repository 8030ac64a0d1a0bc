//===- OpOrder.cpp - The order in which ops of a body run -----------------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

#include "meshwright/Cost/Temporaries/OpOrder.h"
#include "meshwright/Cost/Device.h"
#include "meshwright/Cost/Kernels.h"
#include "llvm/ADT/DenseSet.h"
#include "llvm/ADT/STLExtras.h"

using namespace mlir;
using namespace meshwright;

namespace {
class OpOrder {
public:
  explicit OpOrder(Block &block) : block(block) {}

  void addAll() {
    for (Operation &op : block.without_terminator())
      add(&op);
  }

  void addWhatLeadsToProducts() {
    DenseSet<Operation *> leading;
    for (Operation &op : llvm::reverse(block.without_terminator()))
      if (isProduct(&op) || leading.contains(&op))
        for (Value operand : op.getOperands())
          if (Operation *source = getSource(operand))
            leading.insert(source);
    for (Operation &op : block.without_terminator())
      if (leading.contains(&op))
        add(&op);
  }

  /// What a value needs, and then the op that makes it.
  void addWithSources(Value value) {
    struct Entry {
      Operation *op;
      unsigned next; ///< The operand to look at.
    };
    SmallVector<Entry> path;
    auto enter = [&](Value of) {
      if (Operation *op = getSource(of); op && entered.insert(op).second)
        path.push_back({op, 0});
    };
    enter(value);
    while (!path.empty()) {
      auto [op, next] = path.back();
      if (next < op->getNumOperands()) {
        ++path.back().next;
        enter(op->getOperand(next));
      } else {
        path.pop_back();
        add(op);
      }
    }
  }

  DenseMap<Operation *, unsigned> take() { return std::move(numbers); }

private:
  /// The op of the block that makes a value.
  Operation *getSource(Value value) {
    Operation *source = value.getDefiningOp();
    return source && source->getBlock() == &block ? source : nullptr;
  }
  void add(Operation *op) {
    entered.insert(op);
    numbers.try_emplace(op, numbers.size());
  }

  Block &block;
  DenseMap<Operation *, unsigned> numbers;
  DenseSet<Operation *> entered;
};
} // namespace

DenseMap<Operation *, unsigned> meshwright::numberOps(Block &block,
                                                      const Device &device) {
  OpOrder order(block);
  if (device.cores) {
    order.addWhatLeadsToProducts();
    for (Value result : block.getTerminator()->getOperands())
      order.addWithSources(result);
  }
  order.addAll();
  return order.take();
}
