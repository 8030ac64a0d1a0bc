//===- BeamSearch.cpp - The best of many orders ---------------------------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

#include "meshwright/Schedule/Search/BeamSearch.h"
#include "meshwright/Schedule/Search/PartialOrder.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/Hashing.h"
#include "llvm/ADT/STLExtras.h"
#include <algorithm>

using namespace meshwright;

namespace {
/// The last action of an order, and the node of the one before.
struct Node {
  Action action;
  int32_t mesh;
  uint32_t before;
};

/// Orders of one length. One that is taken out leaves its memory to the next.
class Layer {
public:
  size_t size() const { return count; }
  bool empty() const { return count == 0; }
  PartialOrder &operator[](size_t index) { return orders[index]; }
  const PartialOrder &operator[](size_t index) const { return orders[index]; }
  PartialOrder *begin() { return orders.data(); }
  PartialOrder *end() { return orders.data() + count; }

  void push_back(const PartialOrder &order) {
    if (count == orders.size())
      orders.emplace_back();
    orders[count++] = order;
  }
  void shrink(size_t size) { count = size; }
  void swap(Layer &other) {
    orders.swap(other.orders);
    std::swap(count, other.count);
  }

private:
  std::vector<PartialOrder> orders;
  size_t count = 0;
};

class BeamSearch {
public:
  BeamSearch(const PipelineProblem &problem, size_t width, int64_t limit)
      : problem(problem), builder(problem), width(width), limit(limit) {
    nodes.push_back({});
  }

  BeamResult run();

private:
  void extend(const PartialOrder &order);
  /// Whether another order of the next layer makes this one needless.
  bool isNeedless(const PartialOrder &order,
                  llvm::ArrayRef<uint32_t> mates) const;
  void keepBest();
  Plan makePlan(uint32_t node) const;

  const PipelineProblem &problem;
  OrderBuilder builder;
  size_t width;
  int64_t limit;
  bool dropped = false;
  std::vector<Node> nodes;
  /// An order while it is made, and those that are kept: their memory is used again.
  PartialOrder longer;
  Layer layer, next;
  /// The orders of the next layer by a hash of what they have done.
  llvm::DenseMap<uint64_t, llvm::SmallVector<uint32_t, 2>> alike;
};
} // namespace

static uint64_t getHash(const PartialOrder &order) {
  // Two hash codes are kept free for the map.
  return static_cast<size_t>(
             llvm::hash_combine_range(order.done.begin(), order.done.end())) >>
         2;
}

bool BeamSearch::isNeedless(const PartialOrder &order,
                            llvm::ArrayRef<uint32_t> mates) const {
  return llvm::any_of(mates, [&](uint32_t mate) {
    return next[mate].done == order.done &&
           builder.isNowhereLater(next[mate], order);
  });
}

void BeamSearch::extend(const PartialOrder &order) {
  llvm::SmallVector<Candidate, 8> candidates;
  builder.listCandidates(order, candidates);
  for (const Candidate &candidate : candidates) {
    longer = order;
    builder.append(longer, candidate);
    if (longer.bound >= limit)
      continue;
    auto &mates = alike[getHash(longer)];
    if (isNeedless(longer, mates))
      continue;
    longer.node = nodes.size();
    nodes.push_back({builder.getAction(order, candidate),
                     static_cast<int32_t>(builder.getMesh(candidate)),
                     order.node});
    auto worse = llvm::find_if(mates, [&](uint32_t mate) {
      return next[mate].done == longer.done &&
             builder.isNowhereLater(longer, next[mate]);
    });
    if (worse != mates.end()) {
      next[*worse] = longer;
      continue;
    }
    mates.push_back(next.size());
    next.push_back(longer);
  }
}

void BeamSearch::keepBest() {
  if (next.size() <= width)
    return;
  dropped = true;
  auto isBetter = [](const PartialOrder &a, const PartialOrder &b) {
    return std::tie(a.bound, a.load, a.node) <
           std::tie(b.bound, b.load, b.node);
  };
  std::nth_element(next.begin(), next.begin() + width, next.end(), isBetter);
  next.shrink(width);
}

Plan BeamSearch::makePlan(uint32_t node) const {
  Plan plan;
  plan.meshes.resize(problem.getNumMeshes());
  for (; node != 0; node = nodes[node].before)
    plan.meshes[nodes[node].mesh].push_back(nodes[node].action);
  for (ActionList &list : plan.meshes)
    std::reverse(list.begin(), list.end());
  return plan;
}

BeamResult BeamSearch::run() {
  layer.push_back(builder.getEmpty());
  for (int64_t left = problem.countActions(); left > 0 && !layer.empty();
       --left) {
    for (const PartialOrder &order : layer)
      extend(order);
    keepBest();
    layer.swap(next);
    next.shrink(0);
    alike.clear();
  }
  BeamResult result;
  result.complete = !dropped;
  if (layer.empty())
    return result;
  const PartialOrder &best =
      *std::min_element(layer.begin(), layer.end(),
                        [](const PartialOrder &a, const PartialOrder &b) {
                          return a.bound < b.bound;
                        });
  result.plan = makePlan(best.node);
  return result;
}

BeamResult meshwright::searchOrders(const PipelineProblem &problem,
                                    size_t width, int64_t limit) {
  return BeamSearch(problem, width, limit).run();
}
